"""The divergence curve of every run as one HTML file that opens offline."""

from __future__ import annotations

from likewise.learned.curves import Curve, Curves

__all__ = ["render_curves_html"]

WIDTH, HEIGHT, EDGE = 640, 120, 24

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Divergence along runs</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;margin:2rem auto;max-width:760px;padding:0 1rem;color:#1b1f24;background:#fff}
h1{font-size:1.4rem}h2{font-size:1rem;margin:1.6rem 0 .2rem;overflow-wrap:anywhere}
.note{color:#57606a}.warn{border-left:4px solid #9a6700;padding:.4rem .8rem;background:#fff8c5}
svg{width:100%;height:auto}code{overflow-wrap:anywhere;font-size:.8rem}
@media(prefers-color-scheme:dark){body{background:#0d1117;color:#e6edf3}.note{color:#9da7b1}.warn{background:#3a2d05}}
</style></head><body>
<h1>How far two futures would diverge, at every turn</h1>
<p>Score of the learned metric before each action, from 0 to {{ curves.largest }}. Dashed: the calibrated threshold.
Red: turns at which the score jumps. Hollow: states unlike those of the training, whose score is a guess.</p>
<p>{{ curves.claim }}</p>
{% if curves.demo %}<p class="warn">A demonstration model: {{ curves.demo }}</p>{% endif %}
{% if curves.unfamiliar %}<p class="warn">{{ curves.unfamiliar }} of {{ curves.states }} states are unlike those of the
training.</p>{% endif %}
{% if curves.excluded %}<p class="note">{{ curves.excluded }} run(s) left out: invalid, or without a turn.</p>
{% endif %}
{% for run, drawing in runs %}
<h2>{{ run.task_id }} / {{ run.run_id }}</h2>
<p class="note">{{ {True: "succeeded", False: "failed", None: "outcome not known"}[run.success] }}{% if run.jumps %};
jumps at turn {{ run.jumps | join(", ") }}{% endif %}{% if run.alarm is not none %}; above the threshold from turn
{{ run.alarm }}{% endif %}</p>
{{ drawing }}
{% endfor %}
<p class="note"><code>{{ curves.signature }}</code></p>
</body></html>
"""


def render_curves_html(curves: Curves) -> str:
    """The page."""
    from jinja2 import Environment
    from markupsafe import Markup

    page = Environment(autoescape=True).from_string(_PAGE)
    # Only numbers of ours and escaped text enter a drawing.
    return page.render(curves=curves, runs=[(run, Markup(_drawing(run, curves))) for run in curves.runs])


def _drawing(run: Curve, curves: Curves) -> str:
    from markupsafe import escape

    last = max(len(run.scores) - 1, 1)

    def at(turn: int, value: float) -> tuple[str, str]:
        x = EDGE + turn / last * (WIDTH - 2 * EDGE)
        y = HEIGHT - EDGE - value / curves.largest * (HEIGHT - 2 * EDGE)
        return f"{x:.1f}", f"{y:.1f}"

    points = [at(t, score.value) for t, score in enumerate(run.scores)]
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="score at each of {len(points)} turns">',
        f'<line x1="{EDGE}" x2="{WIDTH - EDGE}" y1="{HEIGHT - EDGE}" y2="{HEIGHT - EDGE}" stroke="#8c959f"/>',
    ]
    if curves.threshold is not None:
        _, y = at(0, min(curves.threshold, curves.largest))
        parts.append(
            f'<line x1="{EDGE}" x2="{WIDTH - EDGE}" y1="{y}" y2="{y}" stroke="#57606a" stroke-dasharray="4 4"/>'
        )
    line = " ".join(f"{x},{y}" for x, y in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0969da" stroke-width="1.5"/>')
    for turn, ((x, y), score) in enumerate(zip(points, run.scores, strict=True)):
        colour = "#cf222e" if turn in run.jumps else "#0969da"
        fill = colour if score.familiar else "none"
        title = escape(f"turn {turn}: {score.value:.3f}\n{run.actions[turn][:200]}")
        parts.append(
            f'<circle cx="{x}" cy="{y}" r="3.5" fill="{fill}" stroke="{colour}"><title>{title}</title></circle>'
        )
    return "".join([*parts, "</svg>"])
