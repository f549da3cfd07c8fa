import { contentText } from "@bonsai-agent/messages";
import { createSession, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compactionSettings, runCompaction } from "../src/index.ts";
import { scriptedSummariser } from "./scripted-summariser.ts";

const round = fc.record({
  request: fc.constantFrom(
    "Port the parser.",
    "Now the printer.",
    "Fix the login.",
    "Weiter mit dem Export.",
  ),
  answers: fc.integer({ min: 1, max: 4 }),
  tokens: fc.integer({ min: 50, max: 1_500 }),
  isCompacted: fc.boolean(),
});

function work(
  session: Session,
  { request, answers, tokens }: { request: string; answers: number; tokens: number },
) {
  session.append({ type: "message", message: { role: "user", content: request, timestamp: 1 } });
  const calls = Array.from({ length: answers }, (_, at) => `A(t${at}) T${at}:${tokens}`);
  history(`${calls.join(" ")} A:${tokens}`, session);
}

test("law: the view names at most one open request, the latest one", async () => {
  const law = fc.asyncProperty(
    fc.array(round, { minLength: 2, maxLength: 8 }),
    fc.integer({ min: 0, max: 2_000 }),
    fc.boolean(),
    async (rounds, keepRecentTokens, asksModel) => {
      const session = createSession({ cwd: "/project" });
      for (const [at, each] of rounds.entries()) {
        const request = `${at}: ${each.request}`;
        work(session, { ...each, request });
        if (!each.isCompacted) continue;
        const { status } = await runCompaction({
          session,
          settings: compactionSettings({ keepRecentTokens }),
          summariser: asksModel ? scriptedSummariser() : undefined,
        });
        if (status !== "compacted") continue;
        const messages = session.projection().items.map(({ message }) => message);
        const summary = messages.find(({ role }) => role === "compactionSummary");
        if (summary?.role !== "compactionSummary") continue;
        const named = [
          ...summary.summary.matchAll(
            /<latest-request>\n.* A user message after the record replaces it\.\n([\s\S]*?)\n<\/latest-request>/g,
          ),
        ];
        const kept = messages.filter((message) => message.role === "user");
        if (kept.length > 0) {
          expect(named).toEqual([]);
          expect(contentText(kept.at(-1)!.content)).toBe(request);
        } else expect(named.map(([, text]) => text)).toEqual([request]);
      }
    },
  );
  await fc.assert(law);
});
