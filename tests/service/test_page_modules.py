"""Modules of the page that need neither a page nor a service, in milliseconds."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ..command_line import printed

ASSETS = Path(__file__).parents[2] / "slice_os" / "service" / "web" / "assets"
BEST = "of the 2 best passages"
NODE = shutil.which("node")
BEGIN = f"""
import {{ FoundHits }} from "{ASSETS.as_uri()}/found-hits.js";
import {{ lowest, ordered, usualCut }} from "{ASSETS.as_uri()}/scores.js";
import {{ queryBody, samePhrases }} from "{ASSETS.as_uri()}/asked.js";
import {{ percent }} from "{ASSETS.as_uri()}/hit-row.js";
import {{ haveHits }} from "{ASSETS.as_uri()}/unit.js";
import {{ inALine }} from "{ASSETS.as_uri()}/welcome.js";
import {{ fromFragment, toFragment }} from "{ASSETS.as_uri()}/address.js";
const hit = (cosine, probability, start = 0) =>
  ({{ doc_id: "a", start, end: start + 1, cosine, probability, band: "unsure", text: "" }});
const store = {{ threshold: 0.6, min_probability: 0.5 }};
const view = {{ measure: "probability", most: "every", least: null, order: "rank" }};
function found(...hits) {{
  const made = new FoundHits();
  made.all = hits;
  return made.cut(view, store);
}}
"""


@pytest.mark.skipif(NODE is None, reason="no node here")
@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("found(hit(.9, .8), hit(.7, .4)).visible.length", 1),
        ("found(hit(.9, .4), hit(.7, .3)).nearest(view).map((one) => one.cosine)", [0.9, 0.7]),
        ("found(hit(.9, .4)).nearest({ ...view, least: .5 })", None),
        ("found().nearest(view)", None),
        # A hit without a probability, in a list that the service cut.
        ("found(hit(.9, null)).visible.length", 1),
        ("found(hit(.9, null)).read", False),
        ("found(hit(.9, .8), hit(.8, .9)).inAll(view, (one) => one.cosine > .85).count", 1),
        ("found(hit(.9, .8), hit(.8, .2)).inAll({ ...view, most: '9' }, () => true).scope", BEST),
        ("lowest([hit(.42, null)], 'cosine', .6)", 0.4),
        ("ordered([hit(.5, .2, 7), hit(.4, .9, 3)], 'place').map((one) => one.start)", [3, 7]),
        ("ordered([hit(.5, .2), hit(.4, .9)], 'probability')[0].cosine", 0.4),
        ("usualCut({ threshold: .6, min_probability: null })", {"measure": "cosine", "least": 0.6}),
        (
            "inALine({ documents: 2, first: null, kinds: { from: 3, queue: 2 } })",
            "2 documents, 3 senders, 2 queues",
        ),
        ("[.65, .649999, .29, .0099, 0].map(percent)", ["65 %", "64 %", "29 %", "< 1 %", "0 %"]),
        ("haveHits(2, 7, false)", ["At least 2 of 7 documents", "have a hit"]),
        ("haveHits(7, 7, false)", ["7 of 7 documents", "have a hit"]),
        ("haveHits(0, 7, false)", ["None of 7 documents", "have a hit"]),
        ("haveHits(0, null, false)", ["No documents", "have a hit"]),
        ("toFragment(fromFragment(''))", "#search"),
        ("fromFragment('#search?phrase=I+want').phrases", ["I want"]),
        ("samePhrases({ phrases: ['a'], counters: [] }, { phrases: ['b'], counters: [] })", False),
    ],
)
def test_state_and_scores_need_no_page(expression: str, value: object) -> None:
    script = f"{BEGIN}\nconsole.log(JSON.stringify({expression}));"
    assert NODE is not None
    command = [NODE, "--no-warnings", "--input-type=module", "--eval", script]
    assert json.loads(printed(command)) == value
