import { Lifecycle } from "@bonsai-agent/lifecycle";
import type { Message } from "@bonsai-agent/messages";
import { type CatalogueModel, ModelClient, type ProviderCall } from "@bonsai-agent/models";
import { type ScenarioAnswer, scriptedProvider } from "@bonsai-agent/models/scripted";
import { createSession, type Session, type SessionSummary } from "@bonsai-agent/session";
import { expect, test } from "vitest";
import { lifecycleEventRules } from "../src/lifecycle.ts";
import { SessionListing } from "../src/listing/session-listing.ts";
import type { AgentNotice } from "../src/notice.ts";
import { answer, edit, used } from "./changed-messages.ts";

const user = (content: string): Message => ({ role: "user", content, timestamp: 1 });

const small: CatalogueModel = {
  provider: "scripted",
  id: "small",
  name: "Small",
  api: "scripted",
  baseUrl: "",
  input: ["text"],
  reasoning: false,
  contextWindow: 20_000,
  maxOutputTokens: 2_000,
};

function blurbsFor(session: Session, play?: (call: ProviderCall) => ScenarioAnswer) {
  const calls: ProviderCall[] = [];
  const notices: AgentNotice[] = [];
  const models = new ModelClient({
    retry: { maxRetries: 0 },
    providers: {
      scripted: async () =>
        scriptedProvider((call) => {
          calls.push(call);
          return play!(call);
        }),
    },
  });
  const blurbs = new SessionListing({
    settings: { titles: false },
    lifecycle: new Lifecycle({ rules: lifecycleEventRules }),
    session,
    models,
    ...(play === undefined ? {} : { smallModel: small }),
    onNotice: (notice) => void notices.push(notice),
  });
  /** Records a run and tells of its end. */
  const run = (...messages: Message[]) => {
    for (const message of messages) session.append({ type: "message", message: message as never });
    blurbs.runEnded({ result: { status: "done" }, messages: () => messages });
  };
  return { blurbs, run, calls, notices };
}

const newSession = () => createSession({ cwd: "/project" });

type SessionBlurb = NonNullable<SessionSummary["digest"]>;

function stored(session: Session): SessionBlurb[] {
  return session
    .entries()
    .flatMap((entry) =>
      entry.type === "custom" && entry.customType === "bonsai.session_digest"
        ? [entry.data as SessionBlurb]
        : [],
    );
}

test("a run that changed files leaves a blurb, and nothing in what the model sees", () => {
  const session = newSession();
  const { run } = blurbsFor(session);
  run(
    user("Fix the cart's total."),
    ...edit("src/cart.ts", 4, 2),
    answer("**Done**: it rounds late now.\n\n```ts\nx\n```"),
  );
  expect(stored(session)).toEqual([
    {
      summary: "Fix the cart's total — Done: it rounds late now.",
      fileCount: 1,
      added: 4,
      removed: 2,
      files: [{ path: "src/cart.ts", added: 4, removed: 2 }],
    },
  ]);
  expect(session.projection().items).toHaveLength(4);
});

test("the summary does not repeat the session's name", () => {
  const session = newSession();
  session.append({ type: "session_info", name: "Fix the cart" });
  blurbsFor(session).run(user("Fix the cart"), ...edit("a.ts"), answer("It rounds late now."));
  expect(stored(session)[0]?.summary).toBe("It rounds late now.");
});

test("a run that changed nothing leaves none", async () => {
  const session = newSession();
  const { run, blurbs } = blurbsFor(session);
  run(user("Where is the total?"), ...used("read", { path: "a.ts" }), answer("In a.ts."));
  await blurbs.close();
  expect(stored(session)).toEqual([]);
});

test("changes are summed over runs, over branches and over programs; the last changed file comes first", () => {
  const session = newSession();
  const first = blurbsFor(session);
  first.run(user("one"), ...edit("a.ts", 1, 0), ...edit("b.ts", 2, 1));
  const branch = session.leafId;
  first.run(user("two"), ...edit("a.ts", 1, 1));
  session.moveTo(branch);
  const second = blurbsFor(session);
  second.run(user("three"), ...edit("c.ts", 5, 5));
  expect(stored(session).at(-1)).toMatchObject({
    fileCount: 3,
    added: 9,
    removed: 7,
    files: [
      { path: "c.ts", added: 5, removed: 5 },
      { path: "a.ts", added: 2, removed: 1 },
      { path: "b.ts", added: 2, removed: 1 },
    ],
  });
});

test("counts changes before the first blurb and between blurbs", () => {
  const session = newSession();
  for (const message of edit("a.ts", 7, 0)) session.append({ type: "message", message: message as never });
  blurbsFor(session).run(user("go on"), ...edit("b.ts", 1, 0));
  for (const message of edit("c.ts", 2, 0)) session.append({ type: "message", message: message as never });
  blurbsFor(session).run(user("go on"), ...edit("b.ts", 1, 0));
  expect(stored(session).at(-1)).toMatchObject({ fileCount: 3, added: 11 });
});

test("many files are counted, and only the latest listed, also after a restart", () => {
  const session = newSession();
  const many = Array.from({ length: 100 }, (_, at) => edit(`f${at}.ts`, 1, 0)).flat();
  blurbsFor(session).run(user("rename"), ...many);
  blurbsFor(session).run(
    user("and one more"),
    ...edit("last.ts", 1, 0),
    ...edit(`${"long/".repeat(200)}.ts`, 1, 0),
  );
  const [before, after] = stored(session);
  expect(before).toMatchObject({ fileCount: 100, added: 100 });
  expect(before?.files).toHaveLength(40);
  expect(before?.files[0]?.path).toBe("f99.ts");
  expect(after).toMatchObject({ fileCount: 102, added: 102 });
  expect(after?.files.slice(0, 2).map(({ path }) => path)).toEqual(["last.ts", "f99.ts"]);
  expect(JSON.stringify(after).length).toBeLessThan(4_000);
});

test("a long session without a blurb is read beside what goes on, and the close waits for it", async () => {
  const session = newSession();
  for (let turn = 0; turn < 700; turn += 1)
    for (const message of edit(`f${turn % 7}.ts`, 1, 0))
      session.append({ type: "message", message: message as never });
  const { blurbs, run } = blurbsFor(session);
  run(user("go on"), ...edit("last.ts", 1, 0), answer("Done."));
  expect(stored(session)).toEqual([]);
  await blurbs.close();
  expect(stored(session)).toMatchObject([
    { fileCount: 8, added: 701, files: [{ path: "last.ts" }, {}, {}, {}, {}, {}, {}, {}] },
  ]);
});

test("a damaged blurb is passed over", () => {
  const session = newSession();
  const { run } = blurbsFor(session);
  run(user("one"), ...edit("a.ts", 1, 0));
  session.append({ type: "custom", customType: "bonsai.session_digest", data: { fileCount: "many" } });
  blurbsFor(session).run(user("two"), ...edit("b.ts", 1, 0));
  expect(stored(session).at(-1)).toMatchObject({ fileCount: 2, added: 2 });
});

test.each<[string, string, string]>([
  ["long texts", "word ".repeat(3_000), "and so on. ".repeat(3_000)],
  ["texts without spaces", "修复购物车".repeat(900), "完成".repeat(3_000)],
])("a summary has at most 400 characters: %s", (_, request, said) => {
  const session = newSession();
  blurbsFor(session).run(user(request), ...edit("a.ts"), answer(said));
  const { summary } = stored(session)[0]!;
  expect([...summary].length).toBeLessThanOrEqual(400);
  expect(summary.length).toBeGreaterThan(40);
});

test("no secret gets into a summary", () => {
  const session = newSession();
  blurbsFor(session).run(
    user("Deploy with ghp_REDACTED"),
    ...edit("a.ts"),
    answer("Deployed; the password is hunter2"),
  );
  expect(stored(session)[0]?.summary).not.toMatch(/ghp_|hunter2/);
});

const settled = async (session: Session, count: number) => {
  for (let turn = 0; turn < 100 && stored(session).length < count; turn += 1) await new Promise(setImmediate);
};

test("a small model writes the summary in the background, and the session's cost counts it", async () => {
  const session = newSession();
  const { run, calls } = blurbsFor(session, () => ({
    text: "The cart's total\nis **rounded** late now.\n",
  }));
  run(user("Fix the cart"), ...edit("a.ts"), answer("Done."));
  expect(stored(session)).toEqual([]);
  await settled(session, 1);
  expect(stored(session)[0]?.summary).toBe("The cart's total is rounded late now.");
  expect(calls).toHaveLength(1);
  expect(calls[0]).toMatchObject({ purpose: "title", tools: [], model: { id: "small" } });
  expect(JSON.stringify(calls[0]?.messages)).toContain("<changed-files>\\na.ts");
  expect(session.entries().filter(({ type }) => type === "usage")).toMatchObject([
    { kind: "session_digest" },
  ]);
});

test("writes the blurb also if the small model fails", async () => {
  const session = newSession();
  const { run, notices } = blurbsFor(session, () => ({ error: { status: 401, message: "no key" } }));
  run(user("Fix the cart"), ...edit("a.ts"), answer("Done."));
  await settled(session, 1);
  expect(stored(session)[0]).toMatchObject({ summary: "Fix the cart — Done.", fileCount: 1 });
  expect(notices).toMatchObject([{ code: "session_digest_failed" }]);
});

test("runs that end while the model writes get one blurb more, together; the close ends the request", async () => {
  const session = newSession();
  const { run, blurbs, calls, notices } = blurbsFor(session, () => ({
    text: "Never heard",
    delayMs: 1_000_000,
  }));
  run(user("Fix the cart"), ...edit("a.ts", 1, 0), answer("Done."));
  run(user("Fix the shop"), ...edit("b.ts", 1, 0), answer("Done too."));
  run(user("Fix the till"), ...edit("c.ts", 1, 0), answer("All done."));
  await blurbs.close();
  expect(stored(session)).toHaveLength(1);
  expect(stored(session)[0]).toMatchObject({ summary: "Fix the till — All done.", fileCount: 3, added: 3 });
  expect(calls.length).toBeLessThanOrEqual(1);
  expect(notices).toEqual([]);
  run(user("late"), ...edit("d.ts"));
  expect(stored(session)).toHaveLength(1);
});

test("a full disk ends no run, and is reported by a notice", async () => {
  const session = newSession();
  const { blurbs, notices } = blurbsFor(session);
  const changed = edit("a.ts");
  for (const message of changed) session.append({ type: "message", message: message as never });
  session.append = () => {
    throw new Error("disk full");
  };
  const ended = { result: { status: "done" as const }, messages: () => changed };
  expect(() => blurbs.runEnded(ended)).not.toThrow();
  await blurbs.close();
  expect(notices).toMatchObject([
    { code: "session_digest_failed", message: expect.stringContaining("disk full") },
  ]);
});
