import { MemoryStore, openSession, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { expect, test } from "vitest";
import { compactionSettings, navigateTree, runCompaction } from "../src/index.ts";
import { compactionLifecycle } from "./compaction-lifecycle.ts";
import { scriptedSummariser, wellFormed } from "./scripted-summariser.ts";

const settings = compactionSettings({ keepRecentTokens: 200, mask: { enabled: false } });
/** Made from parts: a scanner finds no key in this file. */
const TOKEN = `gh${"p"}_${"a1B2".repeat(9)}`;
const PASSWORD = `hunter${"2".repeat(4)}xyz`;
const ENV = `PORT=8443\nGITHUB_TOKEN=${TOKEN}\nDB_PASSWORD=${PASSWORD}\n`;

function append(session: Session, message: object): void {
  session.append({ type: "message", message: { timestamp: 1, ...message } as never });
}

function callsBash(session: Session, command: string, output: string, isError = false): void {
  const content = [{ type: "toolCall", id: "t", name: "bash", arguments: { command } }];
  append(session, { role: "assistant", content, stopReason: "toolUse" });
  const result = { toolCallId: "t", toolName: "bash", content: [{ type: "text", text: output }], isError };
  append(session, { role: "toolResult", ...result });
}

/** A session that read, repeated and used an environment file. */
function withSecrets(): Session {
  const { session } = history("U:400 A:400");
  append(session, { role: "user", content: `Use ${TOKEN}; the password is ${PASSWORD}.` });
  callsBash(session, "cat .env", ENV);
  callsBash(session, `export GITHUB_TOKEN=${TOKEN} && git push`, `fatal: bad credentials ${TOKEN}`, true);
  append(session, {
    role: "assistant",
    content: [{ type: "text", text: `Done with ${PASSWORD}. Shall I also use ${TOKEN}?` }],
    stopReason: "stop",
  });
  history("U:400 A:900 | U:100 A:200", session);
  return session;
}

/** All that the latest compaction stored. */
function stored(session: Session): string {
  return JSON.stringify(session.entries().findLast(({ type }) => type === "compaction"));
}

const repeatsAll = () =>
  scriptedSummariser(
    Array.from({ length: 9 }, () => (request) => ({
      text: `${wellFormed(request)}\nDB_PASSWORD=${PASSWORD}, token ${TOKEN}\n${request.prompt.user.slice(0, 2_000)}`,
    })),
  );

test.each([
  ["the digest", () => undefined],
  ["a model that repeats them", repeatsAll],
])("three compactions by %s store no secret", async (_, summariserOf) => {
  const session = withSecrets();
  const summariser = summariserOf();
  for (let round = 0; round < 3; round += 1) {
    const { status, failures } = await runCompaction({ session, settings, summariser });
    expect(status, JSON.stringify(failures)).toBe("compacted");
    expect(stored(session)).not.toContain(TOKEN);
    expect(stored(session)).not.toContain(PASSWORD);
    expect(stored(session)).toContain("[redacted: ");
    history(`U"Now use ${PASSWORD} for part ${round}." A:900 | U:100 A:200`, session);
  }
  const asked = JSON.stringify(summariser?.requests.map(({ prompt }) => prompt) ?? []);
  expect(asked).not.toContain(TOKEN);
  expect(asked).not.toContain(PASSWORD);
});

test.each([
  ["to a digest", "named in the branch", 2, () => undefined],
  ["to a model", "named in the branch", 2, repeatsAll],
  [
    "to a model in parts",
    "named in the branch",
    2,
    () => Object.assign(repeatsAll(), { contextWindow: 4_000 }),
  ],
  ["to a digest", "named before the branch", 5, () => undefined],
  ["to a model", "named before the branch", 5, repeatsAll],
])("the summary of a branch shows %s no secret that is %s", async (_, _where, at, summariserOf) => {
  const session = withSecrets();
  history("U:900 A:900 | U:900 A:900", session);
  const summariser = summariserOf();
  const targetId = session.path()[at - 1]!.id;
  const { summaryEntry } = await navigateTree({ session, targetId, settings, summariser, summarise: true });
  const shown = JSON.stringify([summaryEntry, summariser?.requests.map(({ prompt }) => prompt)]);
  expect(shown).toContain("[redacted: ");
  expect(shown).not.toContain(TOKEN);
  expect(shown).not.toContain(PASSWORD);
});

test("a session opened again still knows the value that an earlier span gave away", async () => {
  const { session: first } = history("U:400 A:400");
  callsBash(first, "cat .env", ENV);
  history("U:400 A:900 | U:100 A:200", first);
  await runCompaction({ session: first, settings });
  const lines = [first.header, ...first.entries()].map((line) => `${JSON.stringify(line)}\n`);
  const again = openSession({ store: new MemoryStore(lines.join("")) });
  history(`U"Now use ${PASSWORD}." A:900 | U:100 A:200`, again);
  expect((await runCompaction({ session: again, settings })).status).toBe("compacted");
  expect(stored(again)).toContain("Now use [redacted: secret].");
});

test("a compaction heals what an older version stored", async () => {
  const session = withSecrets();
  await runCompaction({ session, settings });
  const old = session.entries().findLast((entry) => entry.type === "compaction")!;
  const text = JSON.stringify(old).replaceAll("[redacted: token]", TOKEN).replaceAll("8443", PASSWORD);
  const { id: _, parentId: __, ...leaked } = JSON.parse(text);
  leaked.details.record.terms.uses.push({ term: TOKEN, weight: 9, placed: 9, entries: [] });
  session.append(leaked);
  history("U:400 A:900 | U:100 A:200", session);
  expect((await runCompaction({ session, settings })).status).toBe("compacted");
  expect(stored(session)).not.toContain(TOKEN);
});

test("an extension's summary is redacted, pins stay word for word", async () => {
  const session = withSecrets();
  const lifecycle = compactionLifecycle();
  lifecycle.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
    compaction: { summary: `It uses ${TOKEN}.`, firstKeptEntryId, tokensBefore },
    carryOver: { notes: [`API_KEY=${PASSWORD}`] },
  }));
  await runCompaction({ session, settings, lifecycle, pinned: [`Always send ${TOKEN}`] } as never);
  expect(stored(session)).toContain("It uses [redacted: token].");
  expect(stored(session)).toContain("API_KEY=[redacted: secret]");
});

test("the kept entries stay as they are", async () => {
  const session = withSecrets();
  append(session, { role: "user", content: `Use ${TOKEN}.` });
  await runCompaction({ session, settings });
  expect(JSON.stringify(session.projection().items.slice(1))).toContain(TOKEN);
});

test("a random secret anywhere in a session reaches no summary", async () => {
  const secret = fc.stringMatching(/^[a-zA-Z0-9_+~!@#%^-]{8,24}$/).map((each) => `q8${each}`);
  const place = fc.constantFrom("user", "result", "call", "answer");
  await fc.assert(
    fc.asyncProperty(secret, fc.array(place, { minLength: 1, maxLength: 4 }), async (value, places) => {
      const { session } = history("U:200 A:200");
      callsBash(session, "env", `API_TOKEN=${value}`);
      for (const each of places) {
        const text = `export API_TOKEN="${value}"`;
        if (each === "user") append(session, { role: "user", content: text });
        else if (each === "result") callsBash(session, "make", `error: ${text}`, true);
        else if (each === "call") callsBash(session, text, "ok");
        else append(session, { role: "assistant", content: [{ type: "text", text }], stopReason: "stop" });
      }
      history("U:100 A:900 | U:100 A:200", session);
      await runCompaction({ session, settings });
      expect(stored(session)).not.toContain(value);
    }),
    { numRuns: 25 },
  );
});
