"""A prediction as one HTML page that opens offline, runs no script and asks nothing of any server."""

from __future__ import annotations

from markupsafe import Markup

from likewise.core.version import VERSION
from likewise.evaluation.predict import Prediction
from likewise.report import predict_words
from likewise.report.compare_html import POLICY
from likewise.report.compare_words import p_text
from likewise.report.html import template_asset, template_environment
from likewise.report.predict_charts import forest, number_scatter

__all__ = ["prediction_html"]


def prediction_html(prediction: Prediction) -> str:
    """The page as text; every text of a log or a task escaped."""
    environment = template_environment()
    drawn = dict.fromkeys([prediction.predictors[0].name, "rsd", prediction.length.name])
    by_name = {each.name: each for each in prediction.predictors}
    return environment.get_template("predict.html.j2").render(
        p=prediction,
        said=predict_words,
        p_text=p_text,
        policy=POLICY,
        style=Markup(template_asset(environment, "report.css")),
        forest=forest(prediction),
        scatters=[number_scatter(prediction, by_name[name]) for name in drawn],
        version=VERSION,
    )
