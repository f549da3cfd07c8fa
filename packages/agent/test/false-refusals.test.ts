import { ModelClient, type Provider, ProviderError } from "@bonsai-agent/models";
import { createSession, type Session } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { actor, filler, scriptedAgent, summary } from "./scripted-agent.ts";

const WINDOW = 32_768;
const SYSTEM_TOKENS = 1_500;
const model = { ...actor, contextWindow: WINDOW, maxOutputTokens: 4_096 };

/** Counts every request. Refuses the next one with each text in `refusals`, and all that are above its own window. */
function countingServer({ window = Number.POSITIVE_INFINITY, hasUsage = true } = {}) {
  const refusals: string[] = [];
  const counts: number[] = [];
  const refused = (message: string) => new ProviderError({ kind: "refused", status: 400, message });
  const provider: Provider = {
    async *stream(call, answer) {
      const input = SYSTEM_TOKENS + Math.ceil(JSON.stringify(call.messages).length / 4);
      const isTurn = call.purpose === "turn";
      if (isTurn) counts.push(input);
      const message = isTurn ? refusals.shift() : undefined;
      if (message !== undefined) throw refused(message);
      if (input > window) throw refused(`prompt is too long: ${input} tokens > ${window} maximum`);
      const text = isTurn ? filler(counts.length > 4 ? 5 : 4_800) : summary.text!;
      yield answer.text(text);
      answer.stop("stop");
      if (hasUsage) answer.setUsage({ input, output: Math.ceil(text.length / 4) });
    },
  };
  return { provider, refusals, counts };
}

function agentOn({ provider }: ReturnType<typeof countingServer>, session: Session, id = "actor") {
  const models = new ModelClient({ providers: { scripted: async () => provider }, retry: { maxRetries: 0 } });
  const policy = { estimator: "calibrated" } as const;
  return scriptedAgent({ turn: [], model: { ...model, id }, models, session, policy }).agent;
}

/** "done", or why not. */
async function say(agent: ReturnType<typeof agentOn>, text: string): Promise<string> {
  const { status, error } = await agent.prompt(text);
  return error?.message ?? status;
}

/** A session of about 21,000 tokens. */
async function workedOn(server: ReturnType<typeof countingServer>): Promise<Session> {
  const session = createSession({ cwd: "/project" });
  const agent = agentOn(server, session);
  for (let turn = 0; turn < 4; turn++) expect(await say(agent, `step ${turn}`)).toBe("done");
  return session;
}

const claims = {
  "a count far above the context": "prompt is too long: 111490 tokens > 32768 maximum",
  "swapped numbers": "prompt is too long: 32768 tokens > 111490 maximum",
  zeros: "prompt is too long: 0 tokens > 0 maximum",
  ones: "prompt is too long: 1 tokens > 1 maximum",
  "a count of a million million": "prompt is too long: 1000000000000 tokens > 32768 maximum",
  "a limit of a million million": "prompt is too long: 22000 tokens > 1000000000000 maximum",
  "a limit above the catalogue's": "prompt is too long: 213462 tokens > 200000 maximum",
  "a limit that its own answers exceed": "prompt is too long: 22000 tokens > 1200 maximum",
  "Google's words": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
  "OpenAI's words":
    "This model's maximum context length is 4097 tokens. However, your messages resulted in 900000 tokens.",
  "no numbers": "prompt is too long",
};

test.each(Object.entries(claims))("one refusal with %s does not end a session", async (_, message) => {
  for (const hasUsage of [true, false]) {
    const server = countingServer({ hasUsage });
    const session = await workedOn(server);
    const agent = agentOn(server, session);
    server.refusals.push(message);
    expect(await say(agent, "next")).toBe("done");
    const compactions = () => session.path().filter(({ type }) => type === "compaction").length;
    const before = compactions();
    for (let turn = 0; turn < 3; turn++) expect(await say(agent, `and ${turn}`)).toBe("done");
    expect(await say(agentOn(server, session, "other"), "with another model")).toBe("done");
    // The wrong number of the refusal starts no further compaction.
    expect(compactions()).toBe(before);
  }
});

test("a session works on although every fourth request is refused with a wrong number", async () => {
  const server = countingServer();
  const session = await workedOn(server);
  const agent = agentOn(server, session);
  for (let turn = 0; turn < 8; turn++) {
    if (turn % 4 === 0) server.refusals.push(claims["a count far above the context"]);
    expect(await say(agent, `turn ${turn} ${filler(2_000)}`)).toBe("done");
  }
});

test.each([0.7, 0.5])("a real window of %d times the catalogue's is worked with", async (share) => {
  const server = countingServer({ window: Math.floor(WINDOW * share) });
  const session = createSession({ cwd: "/project" });
  const agent = agentOn(server, session);
  for (let turn = 0; turn < 12; turn++)
    expect(await say(agent, `turn ${turn} ${filler(1_500)}`)).toBe("done");
});
