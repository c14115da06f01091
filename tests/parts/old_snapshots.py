"""Snapshots to the letter as earlier versions wrote them; only line ends were added."""

from __future__ import annotations

VERSION_1 = r"""
{"format":"steelyard-snapshot",
"version":1,
"run":{"id":"demo-2","suite_name":"demo","suite_path":"demo/suite.yaml","created_at":1000.0,
"ended_at":null,"state":"running","verdict":null,"suspect":[],"n_planned":3,"rescored_from":null,
"version":"0.1.0","signature":{"truth":"ab12","text":"demo|truth:ab12"},"target":{"kind":"recorded",
"file":"answers.jsonl"},"suite":{"name":"demo","components":[{"name":"title"},{"name":"year"}],
"bands":[{"name":"Good","at_least":0.75},{"name":"Poor","at_least":0.0}]},"options":{"limit":20},
"summary":null},
"cases":[
{"attachments":[],"category":"odd","difficulty":"easy","expected":{"title":"Thing 7","year":1907},
"id":"case-0007","input":{"description":"thing 7"},"tags":[],"why":"a plain one"}
],
"samples":[
{"position":0,"case":"case-0007","case_hash":"16c06d3d1491c139","variant":"","repeat":0,
"outcome":"scored","score":0.8,"passed":true,"band":"Good","category":"odd","difficulty":"easy",
"tags":[],"rung":"whole","scores":[{"name":"title","value":1.0,"weight":70.0},{"name":"year",
"value":0.5,"weight":30.0,"raw":0.9,"bound_by":"no date","note":"guessed"}],
"findings":[{"code":"YEAR","severity":"major","place":"year","expected":1900,"got":[1890,null],
"evidence":"said 1890"}],"attempt":{"text":"{\"title\": \"Thing\"}","status":200,"latency":0.25,
"started_at":1001.5,"tries":2,"tokens_in":12,"tokens_out":7,"cost":0.0015,"model":"model-x",
"cached":false,"failure":null}}
],
"digest":"sha256:099efd6bbbb9cf264ad99aa3ef552cc8ae725b05aa84d938ed9506b7130e882b"}
"""
"""Before scores had counts."""

VERSION_2 = r"""
{"format":"steelyard-snapshot",
"version":2,
"run":{"id":"demo-2","suite_name":"demo","suite_path":"demo/suite.yaml","created_at":1000.0,
"ended_at":null,"state":"running","verdict":null,"suspect":[],"n_planned":3,"rescored_from":null,
"version":"0.1.0","signature":{"truth":"ab12","text":"demo|truth:ab12"},"target":{"kind":"recorded",
"file":"answers.jsonl"},"suite":{"name":"demo","components":[{"name":"title"},{"name":"year"}],
"bands":[{"name":"Good","at_least":0.75},{"name":"Poor","at_least":0.0}]},"options":{"limit":20},
"summary":null},
"cases":[
{"attachments":[],"category":"odd","difficulty":"easy","expected":{"title":"Thing 7","year":1907},
"id":"case-0007","input":{"description":"thing 7"},"tags":[],"why":"a plain one"}
],
"samples":[
{"position":0,"case":"case-0007","case_hash":"16c06d3d1491c139","variant":"","repeat":0,
"outcome":"scored","score":0.8,"passed":true,"band":"Good","category":"odd","difficulty":"easy",
"tags":[],"rung":"whole","scores":[{"name":"title","value":0.5,"weight":70.0,
"counts":{"seen":4,"right":2}}],"findings":[{"code":"YEAR","severity":"major","place":"year",
"expected":1900,"got":null,"evidence":"said 1890","component":"year","gain":0.25,
"box":[0.0,0.25,0.5,1.0]}],"marks":[{"box":[0.5,0.5,1.0,1.0],"text":"chair"}],
"attempt":{"text":"{\"title\": \"Thing\"}","status":200,"latency":0.25,"started_at":1001.5,
"tries":2,"tokens_in":12,"tokens_out":7,"cost":0.0015,"model":"model-x","cached":false,
"failure":null}}
],
"digest":"sha256:f15bb686ebf4b05dfb7878354bf6a8172970baa064d9fdb8739c8bfa4206ebc9"}
"""
"""Before there were judges."""

VERSION_3 = r"""
{"format":"steelyard-snapshot",
"version":3,
"run":{"id":"demo-3","suite_name":"demo","suite_path":"demo/suite.yaml","created_at":1000.0,
"ended_at":null,"state":"running","verdict":null,"suspect":[],"n_planned":3,"rescored_from":null,
"version":"0.1.0","signature":{"truth":"ab12","text":"demo|truth:ab12"},"target":{"kind":"recorded",
"file":"answers.jsonl"},"suite":{"name":"demo","components":[{"name":"title"},{"name":"year"}],
"bands":[{"name":"Good","at_least":0.75},{"name":"Poor","at_least":0.0}]},"options":{"limit":20},
"summary":null},
"cases":[
{"attachments":[],"category":"odd","difficulty":"easy","expected":{"title":"Thing 7","year":1907},
"id":"case-0007","input":{"description":"thing 7"},"tags":[],"why":"a plain one"}
],
"samples":[
{"position":0,"case":"case-0007","case_hash":"16c06d3d1491c139","variant":"","repeat":0,
"outcome":"scored","score":0.8,"passed":true,"band":"Good","category":"odd","difficulty":"easy",
"tags":[],"rung":"whole","scores":[{"name":"title","value":0.5,"weight":70.0}],
"findings":[{"code":"YEAR","severity":"major","place":"year","expected":1900,"got":null,
"evidence":"said 1890","component":"year","gain":0.25,"box":[0.0,0.25,0.5,1.0]}],
"judgement":{"mode":"rules","ballots":[{"member":"code","repeat":0,"mode":"rules","rung":"rules",
"raw":{"tone":4},"bound":{"tone":3},"bound_by":{"tone":"tone <= 3"}}],"raw":{"tone":4},"bound":{"tone":3}},
"attempt":{"text":"{\"title\": \"Thing\"}","status":200,"latency":0.25,"started_at":1001.5,
"tries":2,"tokens_in":12,"tokens_out":7,"cost":0.0015,"model":"model-x","cached":false,
"failure":null}}
],
"digest":"sha256:b32cebf9aee746f08c57a590de2a9349fb7ceeb594d9db8fa912bcd40cbc0042"}
"""
"""Before there were spans."""

VERSION_4 = r"""
{"format":"steelyard-snapshot",
"version":4,
"run":{"id":"demo-4","suite_name":"demo","suite_path":"demo/suite.yaml","created_at":1000.0,"ended_at":null,
"state":"running","verdict":null,"suspect":[],"n_planned":3,"rescored_from":null,"version":"0.1.0",
"signature":{"truth":"ab12","text":"demo|truth:ab12"},"target":{"kind":"recorded","file":"answers.jsonl"},
"suite":{"name":"demo","components":[{"name":"title"},{"name":"year"}],"bands":[{"name":"Good",
"at_least":0.75},{"name":"Poor","at_least":0.0}]},"options":{"limit":20},"summary":null},
"cases":[
{"attachments":[],"category":"odd","difficulty":"easy","expected":{"title":"Thing 7","year":1907},
"id":"case-0007","input":{"description":"thing 7"},"tags":[],"why":"a plain one"}
],
"samples":[
{"position":0,"case":"case-0007","case_hash":"16c06d3d1491c139","variant":"","repeat":0,"outcome":"scored",
"score":0.8,"passed":true,"band":"Good","category":"odd","difficulty":"easy","tags":[],"rung":"whole",
"scores":[{"name":"title","value":0.5,"weight":70.0,"counts":{"seen":4}}],"findings":[{"code":"YEAR",
"severity":"major","place":"year","expected":1900,"got":null,"evidence":"said 1890","component":"year",
"gain":0.25,"span":[4,11],"section":"main"}],"marks":[{"box":[0.5,0.5,1.0,1.0],"text":"chair"}],
"certainties":[{"confidence":0.75,"right":true,"label":"year"},{"confidence":null,"right":false}],
"judgement":{"mode":"rules","ballots":[{"member":"code","repeat":0,"mode":"rules","rung":"rules",
"raw":{"tone":4},"bound":{"tone":3},"bound_by":{"tone":"tone <= 3"},"findings":[{"code":"YEAR",
"severity":"major","place":"year","expected":1900,"got":null,"evidence":"said 1890","component":"year",
"gain":0.25,"span":[4,11],"section":"main"}]}],"raw":{"tone":4},"bound":{"tone":3},
"findings":[{"code":"YEAR","severity":"major","place":"year","expected":1900,"got":null,
"evidence":"said 1890","component":"year","gain":0.25,"span":[4,11],"section":"main"}]},
"attempt":{"text":"{\"title\": \"Thing\"}","status":200,"latency":0.25,"started_at":1001.5,"tries":2,
"tokens_in":12,"tokens_out":7,"cost":0.0015,"model":"model-x","cached":false,"failure":null}}
],
"digest":"sha256:5338fb61eecff5f2252eb6b95c199e63a21a544293d1b2dffe684489827fb3ba"}
"""
"""Before there were checks."""
