import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Handler, Lifecycle } from "@bonsai-agent/lifecycle";
import {
  cloneSession,
  createSession,
  customTypes,
  openSession,
  pinChange,
  project,
  type Session,
} from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BackgroundState } from "../src/events.ts";
import {
  CompactionController,
  type CompactionEvents,
  type CompactionSettingsInput,
  compactionEventRules,
  compactionSettings,
  pinnedTexts,
  type Summariser,
  type SummaryAnswer,
} from "../src/index.ts";
import { wellFormed } from "./scripted-summariser.ts";

const WINDOW = 20_000;
/** Above 80 % of the threshold, and below it: 15,000 tokens. */
const SOON = "U:5000 A:10 U:6500 A:10 U:1500 A:10";
const MORE = "U:2500 A:10";

/** A model whose answers come when they are let go. */
function slowSummariser(): Summariser & {
  asked: AbortSignal[];
  answer: (given?: Partial<SummaryAnswer>) => void;
} {
  const waiting: Array<(answer: SummaryAnswer) => void> = [];
  const asked: AbortSignal[] = [];
  return {
    name: "made/slow",
    asked,
    summarise(request) {
      const { signal } = request;
      asked.push(signal);
      return new Promise((resolve) => {
        waiting.push((given) => resolve({ ...{ text: wellFormed(request), stopReason: "stop" }, ...given }));
        signal.addEventListener("abort", () => resolve({ text: "", stopReason: "aborted" }), { once: true });
      });
    },
    answer(given = {}) {
      for (const each of waiting.splice(0)) each(given as SummaryAnswer);
    },
  };
}

interface Setup {
  settings?: CompactionSettingsInput;
  notation?: string;
  file?: string;
}

function working({ settings = {}, notation = SOON, file }: Setup = {}) {
  const { session, id, name } = history(
    notation,
    createSession({ cwd: "/project", ...(file !== undefined && { file }) }),
  );
  const summariser = slowSummariser();
  const lifecycle = new Lifecycle<CompactionEvents>({ rules: compactionEventRules });
  const states: BackgroundState[] = [];
  lifecycle.on("background_compaction", ({ state }) => {
    states.push(state);
  });
  const controller = new CompactionController({
    session,
    settings: compactionSettings(settings, { estimator: "chars4" }),
    model: () => ({ contextWindow: WINDOW }),
    summariser,
    lifecycle,
  });
  const check = (signal?: AbortSignal) =>
    controller.checkThreshold({ site: "betweenTools", ...(signal && { signal }) });
  const compactions = () => session.path().filter(({ type }) => type === "compaction").length;
  return { session, id, name, summariser, lifecycle, states, controller, check, compactions };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("a summary that is made while the agent works", () => {
  test("is begun before it is due, and written at the next look, with what was said since kept whole", async () => {
    const { session, summariser, states, check, compactions } = working();
    expect((await check()).status).toBe("skipped");
    await settled();
    expect(summariser.asked).toHaveLength(1);
    const before = session.path().length;
    history('U"Meanwhile." A"Yes."', session);
    expect((await check()).status).toBe("skipped");
    expect(session.path()).toHaveLength(before + 2);
    summariser.answer();
    await settled();
    const done = await check();
    expect(done.status).toBe("compacted");
    expect(compactions()).toBe(1);
    expect(states).toEqual(["begun", "ready", "committed"]);
    const seen = session.projection().items.map(({ message }) => JSON.stringify(message));
    expect(seen.some((message) => message.includes("Meanwhile."))).toBe(true);
    expect(done.tokensAfter).toBeLessThan(done.tokensBefore);
  });

  test("is waited for where it is due, and none is begun beside it", async () => {
    const { session, summariser, states, lifecycle, check, compactions } = working();
    await check();
    await settled();
    history(MORE, session);
    const told: string[] = [];
    for (const name of ["auto_compaction_start", "auto_compaction_end"] as const)
      lifecycle.on(name, () => void told.push(name));
    const waiting = check();
    await settled();
    expect(summariser.asked).toHaveLength(1);
    // The waiting check has sent the start event.
    expect(told).toEqual(["auto_compaction_start"]);
    summariser.answer();
    expect((await waiting).status).toBe("compacted");
    expect(told).toEqual(["auto_compaction_start", "auto_compaction_end"]);
    expect([summariser.asked.length, compactions()]).toEqual([1, 1]);
    expect(states).toEqual(["begun", "ready", "committed"]);
  });

  test("is not begun where another rule forbids it", () =>
    everyRow([
      ["below its share", "U:5000 A:10 U:1500 A:10", {}],
      ["where it is switched off", SOON, { background: false }],
      ["where compaction is", SOON, { enabled: false }],
      [
        "where masks would do",
        "U A(t1) T1:9000 U A U A:4000",
        { mask: { protectTokens: 1_000, minimumTokens: 1_000 } },
      ],
    ] as const)(async ([, notation, settings]) => {
      const { summariser, check } = working({ notation, settings });
      await check();
      await settled();
      expect(summariser.asked).toHaveLength(0);
    }));

  test("is begun once for a task, and anew after a compaction", async () => {
    const { session, summariser, states, check } = working();
    await check();
    await settled();
    summariser.answer({ stopReason: "error", errorMessage: "down" });
    await settled();
    await check();
    await settled();
    expect(summariser.asked).toHaveLength(1);
    expect(states).toEqual(["begun", "failed"]);
    history(MORE, session);
    // The model is not asked again so soon: nobody waits.
    expect((await check()).status).toBe("compacted");
    expect(summariser.asked).toHaveLength(1);
  });
});

/** With a pin, and a compaction that can be taken back. */
const DAY = `U A U A C(u2) P"Whole cents." ${SOON}`;
type Working = ReturnType<typeof working>;
type Outcome = "committed" | "discarded" | "awaited";

/** The event that happens while a summary runs in the background. */
const meanwhile: Readonly<Record<string, (at: Working) => unknown>> = {
  "the conversation continues": ({ session }) => history(MORE, session),
  "the user presses Esc": ({ check }) => check(AbortSignal.abort()),
  "the compaction is due before the summary is ready": ({ session }) => history(MORE, session),
  "the model stays silent": ({ session }) => history(MORE, session),
  "the model fails": ({ summariser }) => summariser.answer({ stopReason: "error", errorMessage: "down" }),
  "a summarised message is redacted": ({ session, id }) =>
    session.append({ type: "context_edit", targetId: id("u3"), replacement: { content: "[redacted]" } }),
  "a kept message is redacted": ({ session, id }) =>
    session.append({ type: "context_edit", targetId: id("u5"), replacement: { content: "[redacted]" } }),
  "a result is masked": ({ session, id }) =>
    session.append({ type: "context_edit", targetId: id("u4"), replacement: null }),
  "the user undoes a compaction": ({ session, id }) =>
    session.append({ type: "custom", customType: customTypes.undo, data: { compactionId: id("c1") } }),
  "a pin is added or removed": ({ session }) => history('Q"Whole cents." P"Half cents."', session),
  "the user moves to another branch": ({ session, id }) => {
    session.moveTo(id("a3"));
    history("U:8000 A:10", session);
  },
  "the user moves to another branch and back": ({ session, id }) => {
    session.moveTo(id("a3"));
    session.moveTo(id("a5"));
  },
  "the user runs /compact": async ({ controller, summariser }) => {
    const asked = controller.compact();
    await settled();
    summariser.answer();
    await asked;
  },
  "the user runs /compact with a focus": async ({ controller, summariser }) => {
    const asked = controller.compact({ focus: "the parser" });
    await settled();
    summariser.answer();
    expect((await asked).status).toBe("compacted");
  },
  "the user runs /compact with the digest": async ({ controller }) =>
    expect((await controller.compact({ useDigest: true })).status).toBe("compacted"),
  "the model changes": ({ controller }) => controller.modelChanged(),
  "the session is forked": ({ session }) => {
    const fork = openSession(cloneSession(session));
    expect(fork.projection().items).toHaveLength(session.projection().items.length);
    fork.close();
  },
  "another process appends to the file": ({ session }) => {
    const other = openSession(session.file!);
    history("U A", other);
    other.close();
  },
  "the session is closed": ({ controller }) => controller.abandonBackground("The session is closed."),
  "the program is killed": () => {},
  "an extension cancels it": () => {},
  "an extension returns its own summary": () => {},
};

const handlers: Readonly<Record<string, Handler<CompactionEvents["session_before_compact"]>>> = {
  "an extension cancels it": ({ background }) => ({ cancel: background === true }),
  "an extension returns its own summary": ({ background, preparation }) => {
    expect(background).toBe(true);
    const { firstKeptEntryId, tokensBefore } = preparation;
    return { compaction: { summary: "An own one.", firstKeptEntryId, tokensBefore } };
  },
};

async function outcomeAfter(event: string): Promise<Outcome> {
  const file = join(mkdtempSync(join(tmpdir(), "background-")), "session.jsonl");
  const at = working({ notation: DAY, file });
  const handler = handlers[event];
  if (handler !== undefined) at.lifecycle.on("session_before_compact", handler);
  await at.check();
  await settled();
  await meanwhile[event]!(at);
  if (event === "the program is killed") return isWritten(openSession(file)) ? "committed" : "discarded";
  const isDue =
    event === "the compaction is due before the summary is ready" || event === "the model stays silent";
  if (isDue) return (await isWaitedFor(at)) ? "awaited" : "discarded";
  at.summariser.answer();
  await settled();
  await at.check();
  return isWritten(at.session) ? "committed" : "discarded";
}

/** Until somebody ends the wait; then nothing is written. */
async function isWaitedFor({ check, session }: Working): Promise<boolean> {
  const stop = new AbortController();
  let isOver = false;
  const waiting = check(stop.signal).finally(() => {
    isOver = true;
  });
  for (let look = 0; look < 5; look += 1) await settled();
  const waited = !isOver;
  stop.abort();
  expect((await waiting).status).toBe("cancelled");
  expect(isWritten(session)).toBe(false);
  return waited;
}

function isWritten(session: Session): boolean {
  return (
    session
      .path()
      .some((entry) => entry.type === "compaction" && ownManifest(entry)?.isBackground === true) ||
    session.path().some((entry) => entry.type === "compaction" && entry.fromHook === true)
  );
}

function ownManifest({ details }: { details?: unknown }): { isBackground?: boolean } | undefined {
  return (details as { manifest?: { isBackground?: boolean } } | undefined)?.manifest;
}

const table: readonly [event: string, outcome: Outcome][] = [
  ["the conversation continues", "committed"],
  ["the user presses Esc", "committed"],
  ["the compaction is due before the summary is ready", "awaited"],
  ["the model stays silent", "awaited"],
  ["the model fails", "discarded"],
  ["a summarised message is redacted", "discarded"],
  ["a kept message is redacted", "discarded"],
  ["a result is masked", "discarded"],
  ["the user undoes a compaction", "discarded"],
  ["a pin is added or removed", "discarded"],
  ["the user moves to another branch", "discarded"],
  ["the user moves to another branch and back", "committed"],
  ["the user runs /compact", "committed"],
  ["the user runs /compact with a focus", "discarded"],
  ["the user runs /compact with the digest", "discarded"],
  ["the model changes", "discarded"],
  ["the session is forked", "committed"],
  ["another process appends to the file", "committed"],
  ["the session is closed", "discarded"],
  ["the program is killed", "discarded"],
  ["an extension cancels it", "discarded"],
  ["an extension returns its own summary", "committed"],
];

test.each(table)("if %s meanwhile, the background summary is %s", async (event, outcome) => {
  expect(await outcomeAfter(event)).toBe(outcome);
});

/** The latest compaction with places instead of ids, without the parts that say how it was made. */
function compactionOf({ session }: Working): unknown {
  const entry = session.path().findLast(({ type }) => type === "compaction");
  if (entry?.type !== "compaction") return undefined;
  const { summary, details, firstKeptEntryId } = entry;
  const { manifest, ...carried } = details as { manifest: Record<string, unknown> };
  const { summarised, turnPrefix, kept, splitTurn, loss } = manifest;
  const text = JSON.stringify({
    summary,
    firstKeptEntryId,
    carried,
    summarised,
    turnPrefix,
    kept,
    splitTurn,
    loss,
  });
  const ids = session.entries().map(({ id }) => id);
  return JSON.parse(text.replaceAll(new RegExp(ids.join("|"), "g"), (id) => `entry ${ids.indexOf(id)}`));
}

test("law: a summary made in the background equals one made at once for the same entries", async () => {
  let compared = 0;
  const spoken = fc.constantFrom(
    "U A",
    "U:300 A:40",
    "U A(t1) T1:400 A",
    "U A(t1=edit:a.ts) T1 A",
    'P"Never push."',
  );
  const law = fc.asyncProperty(
    fc.array(spoken, { maxLength: 6 }),
    fc.array(spoken, { maxLength: 4 }),
    async (before, later) => {
      const notation = [...before, SOON].join(" ");
      const ahead = working({ notation });
      await ahead.check();
      await settled();
      if (ahead.summariser.asked.length === 0) return;
      const since = later.filter((each) => !each.startsWith("P")).join(" ");
      if (since !== "") history(since, ahead.session);
      ahead.summariser.answer();
      await settled();
      await ahead.check();
      const cut = ahead.session.projection().compaction?.firstKeptEntryId;
      const atOnce = working({ notation, settings: { background: false } });
      if (since !== "") history(since, atOnce.session);
      const firstKeptEntryId = atOnce.id(ahead.name(cut!));
      const made = atOnce.controller.compact({ firstKeptEntryId });
      await settled();
      atOnce.summariser.answer();
      expect((await made).status).toBe("compacted");
      expect(compactionOf(ahead)).toEqual(compactionOf(atOnce));
      compared += 1;
    },
  );
  await fc.assert(law);
  expect(compared).toBeGreaterThan(5);
});

function idsInView(session: Session, leafId = session.leafId): string[] {
  return session.projection(leafId).items.map(({ entryId }) => entryId);
}

/** Steps of a day, in any order: what is said, changed and moved, looks at the threshold, and answers that come. */
const steps = [
  ...["U A", "U:1000 A:10", "U:3000 A:10", "U A(t1) T1:700 A", 'P"Never push."', 'Q"Never push."'],
  ...["M(%1)", "E(%2)", "Z(%0)", "Y(%0)", "^%1", "^%5", "^%9", "S"],
  ...["check", "check", "check", "answer", "answer", "fail", "digest", "model"],
] as const;

test("Invariant: whatever happens between, a compaction's view is its summary and an end of what was in view, nothing is lost", async () => {
  let written = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constantFrom(...steps), { minLength: 6, maxLength: 16 }), async (day) => {
      const { session, summariser, controller, check, lifecycle } = working();
      let pinned = "";
      const broken: unknown[] = [];
      lifecycle.on("session_compact", ({ compactionEntry }) => {
        if (ownManifest(compactionEntry)?.isBackground !== true) return;
        written += 1;
        const view = idsInView(session, compactionEntry.parentId);
        const [summary, ...kept] = idsInView(session);
        // The summary contains the earlier pins.
        const isUserMessage = (id: string) => pinChange(session.entry(id)!) === undefined;
        const end = view.slice(view.indexOf(kept[0]!)).filter(isUserMessage).join();
        const isWhole = kept.filter(isUserMessage).join() === end && pinnedTexts(session).join() === pinned;
        if (summary !== compactionEntry.id || !isWhole) broken.push([summary, kept, view]);
      });
      const known = new Set<string>();
      for (const step of ["check", ...day, "answer", "check"]) {
        if (step === "check") void check();
        else if (step === "answer") summariser.answer();
        else if (step === "fail") summariser.answer({ stopReason: "error", errorMessage: "down" });
        else if (step === "digest") void controller.compact({ useDigest: true });
        else if (step === "model") controller.modelChanged();
        else history(step, session);
        for (const id of idsInView(session)) known.add(id);
        pinned = pinnedTexts(session).join();
        await settled();
      }
      summariser.answer();
      await settled();
      expect(broken).toEqual([]);
      expect(idsInView(session)).toEqual(project(session.path()).items.map(({ entryId }) => entryId));
      const ids = new Set(session.entries().map(({ id }) => id));
      expect([...known].filter((id) => !ids.has(id))).toEqual([]);
    }),
  );
  // Else nothing of this was tested.
  expect(written).toBeGreaterThan(0);
});
