#!/bin/sh
# Weighs every built-in suite on its embedded default and says where the pages are.
# A verdict of FAIL (1) or AMBIGUOUS (4) is a reading, not a broken demo; anything else is.
set -eu
cd "$(dirname "$0")/.."
PYTHON=${PYTHON:-python3}
OUT=demo
mkdir -p "$OUT"
export STEELYARD_STORE="$OUT/steelyard.db"

weigh() {
    name=$1
    shift
    code=0
    "$PYTHON" -m steelyard run "$@" || code=$?
    case $code in 0 | 1 | 4) ;; *) echo "demo: steelyard run $* ended with exit code $code" >&2; exit "$code" ;; esac
    "$PYTHON" -m steelyard report LAST --html "$OUT/$name.html" >/dev/null
    pages="${pages:-}
  $OUT/$name.html"
}

"$PYTHON" -m steelyard suites
echo
weigh antiques antiques
echo
echo "The same suite, weighing the better of its two sets of recorded answers:"
weigh antiques-better antiques --target better
echo
echo "Photos of cards, read by a real OCR engine, three prompts; this takes a minute or two:"
weigh cards cards --repeats 1
echo
echo "Texts with a rubric, judged by rules and without a model, and whether that judge can be trusted:"
weigh tarot tarot
code=0
"$PYTHON" -m steelyard judge check tarot --run LAST --html "$OUT/tarot-judge.html" || code=$?
case $code in 0 | 1 | 4) ;; *) exit "$code" ;; esac
pages="$pages
  $OUT/tarot-judge.html"
echo
echo "Spans in texts, labelled by an embedded labeller and weighed against gold, and the run compared with itself:"
weigh spans spans
code=0
"$PYTHON" -m steelyard compare LAST LAST --html "$OUT/compare.html" >/dev/null || code=$?
case $code in 0 | 1 | 4) ;; *) exit "$code" ;; esac
pages="$pages
  $OUT/compare.html"
echo
echo "A live service, started for the run and asked five times about every case: checks, stability, latency and charts:"
weigh review review
echo
echo "Open these in a browser; they work from disk, with no network:$pages"
