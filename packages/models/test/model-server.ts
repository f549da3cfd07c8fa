import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LoopbackReply, type LoopbackRequest, loopbackServer } from "@bonsai-agent/testkit";
import { onTestFinished } from "vitest";
import { loadCatalogue } from "../src/catalogue/catalogue.ts";

/** A server that answers by path (and query), 404 elsewhere. */
export async function server(replies: Readonly<Record<string, unknown>>) {
  const answer = ({ path }: LoopbackRequest): LoopbackReply => {
    const reply = replies[path] ?? replies[path.split("?")[0]!];
    if (reply === undefined) return { status: 404, chunks: ["no such page"] };
    return isReply(reply) ? reply : { chunks: [JSON.stringify(reply)] };
  };
  const made = await loopbackServer(answer);
  onTestFinished(made.close);
  return made;
}

function isReply(reply: unknown): reply is LoopbackReply {
  return typeof reply === "object" && reply !== null && "end" in reply;
}

export const { find, providers: builtIn } = await loadCatalogue({
  home: mkdtempSync(join(tmpdir(), "bonsai-servers-")),
  env: {},
});

export const refused: typeof fetch = () => Promise.reject(new Error("asked"));
