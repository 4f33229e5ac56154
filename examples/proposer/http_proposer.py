#!/usr/bin/env python3
"""A proposer for fadeprobe optimize that asks a service of yours, over HTTP.

    fadeprobe optimize -k REGEX --source FILE --proposer 'http_proposer.py URL [options]' -- COMPILER ...

Without options, URL gets FADE's request as it is (docs/formats.md) and answers as a proposer does. With --chat MODEL, it is
asked as a chat: the form of /v1/chat/completions, which many servers of language models speak, also those that run at home.
"""
import argparse
import json
import os
import re
import sys
import urllib.error
import urllib.request

TASK = """You make one GPU kernel faster without changing what it computes. The launch, the kernel's name and its arguments stay as they are.
Answer with the whole changed file in one code block, and one sentence before it that says what you changed. If there is nothing left to try, answer STOP."""


def prompt_of(request):
    """What a person would want to know, in the order of importance."""
    lines = [f"File {request['file']}, attempt {request['attempt']}.", "Captured launches:"]
    lines += [f"- {x['kernel']} on {x['gpu']}: grid {x['grid']}, workgroup {x['workgroup']}" for x in request["kernels"]]
    lines += [f"Costs now: {json.dumps(request['counts'])}", "Accesses to memory, as measured:", json.dumps(request["accesses"])[:20000]]
    for attempt in request["history"]:
        outcome = "accepted" if attempt["accepted"] else f"not accepted at stage '{attempt['stage']}': {attempt['reason'][:4000]}"
        lines.append(f"Attempt {attempt['attempt']} ({attempt['comment']}): {outcome}")
    return "\n".join(lines) + f"\n\n```\n{request['source']}\n```\n"


def proposal_of(reply):
    """The last code block is the file; what stands before the first one is the comment."""
    blocks = re.findall(r"```[^\n]*\n(.*?)```", reply, re.DOTALL)
    if not blocks:
        return {"stop": True}
    return {"source": blocks[-1], "comment": reply.split("```")[0].strip()[:500]}


def ask(arguments, body):
    headers = {"Content-Type": "application/json"}
    for header in arguments.header:
        name, _, variable = header.partition("=")
        headers[name] = os.environ[variable]
    asked = urllib.request.Request(arguments.url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=arguments.timeout) as answer:
        return json.load(answer)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("url")
    parser.add_argument("--chat", metavar="MODEL", help="ask as a chat, with this model")
    parser.add_argument("--header", action="append", default=[], metavar="NAME=VARIABLE",
                        help="a header whose value is in this variable of the environment, for example Authorization=MY_TOKEN")
    parser.add_argument("--timeout", type=float, default=600, metavar="SECONDS")
    arguments = parser.parse_args()
    request = json.load(sys.stdin)
    try:
        if arguments.chat:
            messages = [{"role": "system", "content": TASK}, {"role": "user", "content": prompt_of(request)}]
            answer = ask(arguments, {"model": arguments.chat, "messages": messages})
            proposal = proposal_of(answer["choices"][0]["message"]["content"])
        else:
            proposal = ask(arguments, request)
    except (urllib.error.URLError, OSError, ValueError, KeyError, IndexError, TypeError) as error:
        sys.exit(f"http_proposer: {arguments.url}: {type(error).__name__}: {error}")
    json.dump(proposal, sys.stdout)


if __name__ == "__main__":
    main()
