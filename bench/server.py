"""A loopback endpoint that answers every question after a set time, and judges at once. Run in a process of its own."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from aiohttp import web


async def _serve(pipe: Connection, delay: float) -> None:
    async def answer(request: web.Request) -> web.Response:
        asked = await request.json()
        await asyncio.sleep(delay)
        return web.json_response({"answer": {"name": asked["text"], "count": len(asked["text"])}})

    async def judge(request: web.Request) -> web.Response:
        asked = await request.json()
        fenced = asked["messages"][-1]["content"].partition("word")
        quote = " ".join((fenced[1] + fenced[2]).split()[:4])
        said = {"reasons": ["short", "plain"], "notes": f'clarity: "{quote}"', "clarity": 4, "warmth": 3, "harm": False}
        return web.json_response({"choices": [{"message": {"content": json.dumps(said)}}]})

    app = web.Application()
    app.router.add_post("/ask", answer)
    app.router.add_post("/v1/chat/completions", judge)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    pipe.send(runner.addresses[0][1])
    await asyncio.Event().wait()


def _main(pipe: Connection, delay: float) -> None:
    asyncio.run(_serve(pipe, delay))


@contextmanager
def endpoint(delay: float) -> Iterator[str]:
    """The address of a running endpoint."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_main, args=(theirs, delay), daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{ours.recv()}"
    finally:
        process.terminate()
        process.join()
