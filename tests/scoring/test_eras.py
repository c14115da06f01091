from hypothesis import example, given
from hypothesis import strategies as st

from parts.looped import for_every
from steelyard.scoring.periods import PERIODS
from steelyard.scoring.years import join_years, read_years


@for_every(
    ("text", "years"),
    [
        # years and ranges of years
        ("1920", (1920, 1920)),
        ("circa 1890", (1890, 1890)),
        ("c. 1890", (1890, 1890)),
        ("c1890", (1890, 1890)),
        ("approximately 1925", (1925, 1925)),
        ("1956-present", (1956, 2026)),
        ("1956 to present", (1956, 2026)),
        ("1890–1910", (1890, 1910)),
        ("1890—1910", (1890, 1910)),
        ("1890 − 1910", (1890, 1910)),
        ("1890-95", (1890, 1895)),
        ("1905/6", (1905, 1906)),
        ("1999/2000", (1999, 2000)),
        ("between 1920 and 1935", (1920, 1935)),
        ("from 1920 to 1935", (1920, 1935)),
        ("618-907", (618, 907)),
        ("c. 850", (850, 850)),
        ("made in 1956, model 670", (1956, 1956)),
        # decades
        ("c. 1920s", (1920, 1929)),
        ("1960's", (1960, 1969)),
        ("late 1920s", (1926, 1929)),
        ("1930s-1950s", (1930, 1959)),
        ("1740s-60s", (1740, 1769)),
        ("1920s or 1930s", (1920, 1939)),
        ("1800s", (1800, 1899)),
        ("early 1800s", (1800, 1832)),
        ("mid 1800s", (1833, 1865)),
        ("late 1800s", (1866, 1899)),
        ("mid- to late-1800s", (1833, 1899)),
        ("1890s-1900s", (1890, 1909)),
        ("2000s", (2000, 2009)),
        # centuries
        ("19th century", (1801, 1900)),
        ("nineteenth century", (1801, 1900)),
        ("XIX century", (1801, 1900)),
        ("late 19th century", (1867, 1900)),
        ("mid-19th century", (1834, 1866)),
        ("end of the 19th century", (1867, 1900)),
        ("18th/19th c.", (1701, 1900)),
        ("18th or 19th century", (1701, 1900)),
        ("late 18th to early 19th century", (1767, 1833)),
        ("early to mid-20th century", (1901, 1966)),
        ("2nd quarter of the 18th century", (1726, 1750)),
        ("second quarter of the eighteenth century", (1726, 1750)),
        ("last quarter of the 19th c.", (1876, 1900)),
        ("first half of the 19th century", (1801, 1850)),
        ("turn of the century", (1890, 1910)),
        ("turn of the 19th century", (1790, 1810)),
        # before Christ and after
        ("500–450 BCE", (-500, -450)),
        ("3rd century BC", (-300, -201)),
        ("5th-4th century BC", (-500, -301)),
        ("1st century B.C. - 2nd century A.D.", (-100, 200)),
        ("27 BC-AD 14", (-27, 14)),
        ("AD 120", (120, 120)),
        ("120 CE", (120, 120)),
        # open ends
        ("before 1900", (-9999, 1899)),
        ("pre-1900", (-9999, 1899)),
        ("after 1945", (1946, 2026)),
        ("post-1945", (1946, 2026)),
        ("since 1945", (1945, 2026)),
        ("1945 onwards", (1945, 2026)),
        # names
        ("Victorian", (1837, 1901)),
        ("Edwardian", (1901, 1910)),
        ("Georgian", (1714, 1837)),
        ("Regency", (1811, 1820)),
        ("Art Deco", (1920, 1939)),
        ("mid-century", (1945, 1969)),
        ("Mid-Century Modern", (1945, 1969)),
        ("Qing dynasty", (1644, 1912)),
        ("Ming", (1368, 1644)),
        ("Tang", (618, 907)),
        ("Han", (-206, 220)),
        ("Meiji period", (1868, 1912)),
        ("Arts & Crafts", (1880, 1920)),
        ("Victorian to Edwardian", (1837, 1910)),
        # the finest expression counts
        ("Victorian, c. 1880s", (1880, 1889)),
        ("Mid-Century Modern (1956-present)", (1956, 2026)),
        ("early 20th century (1900-1920)", (1900, 1920)),
        ("Victorian, late 19th century", (1867, 1900)),
        ("Qianlong mark and period (1736-95)", (1736, 1795)),
    ],
)
def test_dates_as_people_write_them(text, years):
    assert read_years(text, present=2026) == years


@for_every("text", ["", "?", "unknown", "1910-1890", "$1,200", "model 670, 3 kg", "old", "12345"])
def test_what_is_no_date_is_unreadable(text):
    assert read_years(text, present=2026) is None


@for_every(
    ("value", "years"),
    [
        (1956, (1956, 1956)),
        (1956.0, (1956, 1956)),
        ([1890, 1910], (1890, 1910)),
        ({"start": 1890, "end": "present"}, (1890, 2026)),
        ({"start": "c. 1890", "end": "1910s"}, (1890, 1919)),
        ([1910, 1890], None),
        ([1890], None),
        ({"start": 1890}, None),
        (True, None),
        (None, None),
        (float("nan"), None),
        (10**400, None),
        ([[1], [2]], None),
    ],
)
def test_numbers_pairs_and_objects_are_read_too(value, years):
    assert read_years(value, present=2026) == years


def test_present_is_a_parameter_and_never_the_clock():
    assert read_years("1956-present", present=1999) == (1956, 1999)


def test_two_fields_make_one_range():
    assert join_years(1890, "1910s", present=2026) == (1890, 1919)
    assert join_years(1910, 1890, present=2026) is None
    assert join_years(None, 1890, present=2026) is None


def test_every_named_period_reads_as_its_own_years():
    for name, years in PERIODS.items():
        assert years[0] <= years[1]
        assert read_years(name.title(), present=2026) == years, name


_WORDS = (
    "early mid late c. circa 19th 18th 3rd century centuries c BC AD 1890 1910 95 1920s 1800s - – / to or "
    "and before after since present Victorian Ming quarter half of the first second turn until from ( ) , "
    ". ' s 0 99999 "
)
words = st.sampled_from(_WORDS.split())


@given(st.lists(words, max_size=10).map(" ".join) | st.text(max_size=50))
@example("0-9999")
def test_no_text_raises_and_years_never_run_backwards(text):
    years = read_years(text, present=2026)
    assert years is None or years[0] <= years[1]


@given(st.integers(1000, 2026), st.integers(0, 500))
def test_a_plain_range_reads_as_written(start, width):
    end = min(start + width, 2999)
    assert read_years(f"{start}-{end}", present=2026) == (start, end)
