import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Handler } from "@bonsai-agent/lifecycle";
import { cloneSession, customTypes, openSession, type Session } from "@bonsai-agent/session";
import { everyRow, history } from "@bonsai-agent/testkit";
import { describe, expect, test } from "vitest";
import type { CompactionEvents } from "../src/index.ts";
import { ownManifest, SOON, settled, type Working, working } from "./background-work.ts";

const MORE = "U:2500 A:10";

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
