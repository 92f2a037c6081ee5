"""The application: its routes, their answers, and the HTTP statuses of the library's errors.

404  no model of this name, no such word        409  the model cannot answer this, with the reason
413  a body that is too long                    422  values that are not allowed
503  too much is waiting (Retry-After)
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp

from wordtie import __version__
from wordtie.errors import DataError, RunFolderError, WordtieError
from wordtie.runs.curves import Curves, is_run_folder, read_curves
from wordtie.runs.ready import run_path
from wordtie.serve import answers, schemas
from wordtie.serve.batcher import ClosedError, QueueFullError
from wordtie.serve.guard import BUG, FILES, Guard
from wordtie.serve.observe import Metrics, log
from wordtie.serve.served import CannotAnswerError, Models, UnknownModelError, names_of

PAGE = Path(__file__).parent / "page"
Responses: TypeAlias = dict[int | str, dict[str, Any]]
MOST_RUNS = 50
"""Maximum number of runs whose curves are shown."""
STATUSES: tuple[tuple[type[WordtieError], int], ...] = (
    (QueueFullError, 503),
    (ClosedError, 503),
    (UnknownModelError, 404),
    (CannotAnswerError, 409),
    (DataError, 404),
    (WordtieError, 422),
)
MEANINGS = {
    400: "The body cannot be read.",
    401: "The token is missing or wrong.",
    404: "There is no model, or no word, of this name.",
    408: "The body did not arrive in time.",
    409: "The model cannot answer this; the reason is given.",
    413: "The body is too long.",
    422: "A value is not allowed.",
    503: "Too much is waiting, or the answer takes too long: try again later.",
}


def refusals(*statuses: int) -> Responses:
    """Return the OpenAPI description of a route's error responses."""
    found: Responses = {status: {"model": schemas.Refusal, "description": MEANINGS[status]} for status in statuses}
    if 503 in found:
        found[503]["headers"] = {"Retry-After": {"schema": {"type": "string"}, "description": "Seconds."}}
    return found


ASKED = refusals(400, 401, 404, 408, 409, 413, 422, 503)
LOOKED_AT = refusals(401, 503)


class Json(Response):
    """An answer as JSON, with words in any script left readable."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the content as bytes."""
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")  # a file name need not be UTF-8


def create_app(
    models: Models,
    metrics: Metrics,
    watched: Sequence[str] = (),
    token: str | None = None,
    loopback: bool = True,
    seconds: float = 30.0,
) -> ASGIApp:
    """Create the application; `watched` are folders of runs whose curves the page shows."""
    app = FastAPI(
        title="wordtie",
        version=__version__,
        description="Surprisal, next words, rescoring, text and word vectors of small language models.",
        docs_url=None,  # they load files from other hosts
        redoc_url=None,
        lifespan=_lifespan(models, metrics),
    )

    _add_questions(app, models)
    _add_comparisons(app, models)
    _add_state(app, models, metrics)
    _add_curves(app, models, watched)
    app.mount(FILES.rstrip("/"), StaticFiles(directory=PAGE), name="page")
    _add_errors(app)
    return Guard(app, metrics, token, loopback, seconds)


def _lifespan(models: Models, metrics: Metrics) -> Callable[[FastAPI], Any]:
    def tell(event: str, model: str, reason: str) -> None:
        if event == "model_replaced":
            metrics.replaced.labels(model).inc()
        log(event, model=model, reason=reason)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        watching = asyncio.create_task(models.watch(tell))
        app.state.ready = True
        yield
        app.state.ready = False
        watching.cancel()
        models.close()

    return lifespan


def _add_questions(app: FastAPI, models: Models) -> None:
    @app.post("/surprisal", response_model=schemas.SurprisalAnswer, responses=ASKED, tags=["text"])
    async def surprisal(asked: schemas.SurprisalAsked) -> Response:
        """Return the surprisal of each word of a text, in bits."""
        name, opened = models.get(asked.model)
        records = await answers.surprisal(opened, asked.text, asked.reset)
        return Json({"model": name, "words": answers.with_shown(asked.text, records)})

    @app.post("/predict", response_model=schemas.PredictAnswer, responses=ASKED, tags=["text"])
    async def predict(asked: schemas.PredictAsked) -> Response:
        """Return the most likely next words, or completions of the word that is being typed."""
        name, opened = models.get(asked.model)
        prefix, words = await answers.predict(opened, asked.text, asked.top, asked.complete, asked.words_only)
        return Json({"model": name, "prefix": prefix, "words": words})

    @app.post("/rescore", response_model=schemas.RescoreAnswer, responses=ASKED, tags=["text"])
    async def rescore(asked: schemas.RescoreAsked) -> Response:
        """Rank the hypotheses of an n-best list by their scores and the model's."""
        name, opened = models.get(asked.model)
        hypotheses = [(each.text, each.score) for each in asked.hypotheses]
        ranked = await answers.rescore(opened, hypotheses, asked.weight, asked.per_word)
        return Json({"model": name, "hypotheses": ranked})

    text: Responses = {
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Text, as it is written."}
    }

    @app.post("/generate", response_class=StreamingResponse, responses={**ASKED, **text}, tags=["text"])
    async def generate(asked: schemas.GenerateAsked) -> Response:
        """Generate text, one sampled word after another; it is sent as it is generated."""
        _, opened = models.get(asked.model)
        pieces = answers.generate(opened, asked.prompt, asked.words, asked.temperature, asked.seed)
        first = await anext(pieces, "")  # so that a refusal has its own status
        return StreamingResponse(_after(first, pieces), media_type="text/plain; charset=utf-8")


def _add_comparisons(app: FastAPI, models: Models) -> None:
    @app.post("/neighbours", response_model=schemas.NeighboursAnswer, responses=ASKED, tags=["words"])
    async def neighbours(asked: schemas.NeighboursAsked) -> Response:
        """Return the words with the nearest vectors, for input and output vectors."""
        name, opened = models.get(asked.model)
        sides = await asyncio.to_thread(answers.neighbours, opened, asked.word, asked.side, asked.top)
        return Json({"model": name, "word": asked.word, "sides": sides})

    @app.post("/compare", response_model=schemas.CompareAnswer, responses=ASKED, tags=["text"])
    async def compare(asked: schemas.CompareAsked) -> Response:
        """Return the surprisal of a text under several models, and where they differ most."""
        names = asked.models if asked.models is not None else [name for name, _ in models][:2]
        if len(names) < 2:
            raise CannotAnswerError("a comparison needs two models, and one is served: wordtie serve RUN RUN2")
        chosen = [models.get(name)[1] for name in names]
        found = await asyncio.gather(*(answers.surprisal(opened, asked.text, asked.reset) for opened in chosen))
        return Json({"models": names, **answers.compared(asked.text, found)})


async def _after(first: str, pieces: AsyncIterator[str]) -> AsyncIterator[str]:
    yield first
    async for piece in pieces:
        if piece:
            yield piece


def _add_state(app: FastAPI, models: Models, metrics: Metrics) -> None:
    @app.get("/models", response_model=schemas.ModelsAnswer, responses=LOOKED_AT, tags=["server"])
    async def served() -> Response:
        """List the models, and what each of them can answer."""
        return Json({"models": [{"name": name, **opened.about()} for name, opened in models]})

    @app.get("/health", response_model=schemas.State, tags=["server"])
    async def health() -> Response:
        """Report that the server is alive."""
        return Json({"status": "alive"})

    @app.get("/ready", response_model=schemas.State, responses=refusals(503), tags=["server"])
    async def ready(request: Request) -> Response:
        """Report whether the models are open and the server is not shutting down."""
        if not getattr(request.app.state, "ready", False):
            return _refusal(503, "not ready")
        return Json({"status": "ready"})

    prometheus: Responses = {
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "As text."}
    }

    @app.get("/metrics", response_class=Response, responses={**LOOKED_AT, **prometheus}, tags=["server"])
    async def measured() -> Response:
        """Return request counts, times, and sizes of batches and queues, in the format of Prometheus."""
        for name, opened in models:
            metrics.waiting.labels(name).set(opened.batcher.waiting)
        return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/", include_in_schema=False)
    async def page() -> Response:
        return FileResponse(PAGE / "index.html", headers={"Cache-Control": "no-cache"})


def _add_curves(app: FastAPI, models: Models, watched: Sequence[str]) -> None:
    @app.get("/curves", response_model=schemas.CurvesAnswer, responses=LOOKED_AT, tags=["server"])
    async def curves() -> Response:
        """Return the training curves of the runs that are served or watched, finished or not."""
        return Json({"runs": await asyncio.to_thread(curves_of, models.runs, watched)})


def curves_of(served: Sequence[str], watched: Sequence[str]) -> list[dict[str, Any]]:
    """Return the runs that have curves: the served ones, and each watched folder or those in it, newest first."""
    folders = [run_path(run) for run in served]
    for place in map(Path, watched):
        inside: list[tuple[float, Path]] = []
        with suppress(OSError):
            for each in place.iterdir():
                with suppress(OSError):  # it has gone since
                    inside.append((-each.stat().st_mtime, each))
        folders += [place, *(each for _, each in sorted(inside))]
    runs: dict[str, Curves] = {}
    places: dict[Path, Path] = {}
    for folder in folders:
        places.setdefault(folder.resolve(), folder.absolute())
    for folder in places.values():
        with suppress(RunFolderError, OSError):
            if len(runs) < MOST_RUNS and folder.is_dir() and is_run_folder(folder):
                found = read_curves(folder)
                if found["points"] or found["state"] == "running":
                    runs[str(folder)] = found
    rows: list[dict[str, Any]] = [{**runs[folder], "folder": name} for name, folder in names_of(list(runs)).items()]
    return sorted(rows, key=lambda run: run["state"] != "running")


def _add_errors(app: FastAPI) -> None:
    async def of_library(request: Request, error: Exception) -> Response:
        status = next(status for kind, status in STATUSES if isinstance(error, kind))
        return _refusal(status, " ".join(str(error).split()))

    async def of_values(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        if first["loc"] == ("body",) or first["type"] == "json_invalid":
            return _refusal(422, "the body is not a JSON object: send one, with Content-Type: application/json")
        where = ".".join(str(part) for part in first["loc"] if part != "body")
        return _refusal(422, f"{where}: {first['msg']}" if where else str(first["msg"]))

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return _refusal(error.status_code, str(error.detail), dict(error.headers or {}))

    app.add_exception_handler(WordtieError, of_library)
    app.add_exception_handler(RequestValidationError, of_values)

    async def of_bug(request: Request, error: Exception) -> Response:
        return _refusal(500, BUG)  # the guard logs it

    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(Exception, of_bug)


def _refusal(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    more = {"Retry-After": "1"} if status == 503 else {}
    clean = detail.encode("utf-8", "replace").decode()
    return Json({"detail": clean}, status_code=status, headers={**more, **(headers or {})})
