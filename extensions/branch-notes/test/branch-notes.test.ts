import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterEach, describe, expect, test } from "vitest";
import branchNotes from "../index.ts";

let open: TestSession | undefined;

afterEach(async () => {
  await open?.close();
  open = undefined;
});

async function stage(options: OpenTestSessionOptions = {}): Promise<TestSession> {
  open = await openTestSession({
    extensions: branchNotes,
    ui: {},
    answers: () => "As you say.",
    summaries: ["## Question\nOak or pine?\n\n## Decision\nOak.", "## Question\nWhich hinge?"],
    ...options,
  });
  if (options.withAgent !== false) await open.prompt("Mend the door.");
  return open;
}

interface Leaving {
  summarise?: boolean;
  focus?: string;
  replaceInstructions?: boolean;
  label?: string;
}

/** Says something, and goes back to the beginning. */
async function left(session: TestSession, text: string, { summarise = true, ...options }: Leaving = {}) {
  const first = session.session.entries().find(({ type }) => type === "message")!;
  const answer = session.session.entries().find(({ parentId }) => parentId === first.id)!;
  await session.prompt(text);
  return session.agent.navigate(answer.id, { summarise, ...options });
}

async function decisions(session: TestSession, words = ""): Promise<string> {
  await session.command(`/decisions ${words}`.trim());
  return String(session.ui.at(-1)?.args[0]);
}

function lastRequest({ requests }: TestSession): string {
  return JSON.stringify(requests.at(-1)?.messages);
}

describe("the note", () => {
  test("is asked for as an entry of a log of decisions, and stored as such", async () => {
    const session = await stage();
    const { summaryEntry } = await left(session, "Try oak.");
    for (const heading of ["## Question", "## Tried", "## Decision", "## Do not repeat", "## Open"])
      expect(lastRequest(session)).toContain(heading);
    expect(lastRequest(session)).not.toContain("Next Steps");
    expect(lastRequest(session)).not.toContain("Dwell on");
    expect(summaryEntry?.summary).toContain("## Decision\nOak.");
    expect(JSON.stringify(session.session.projection().items.at(-1))).toContain("Oak.");
  });

  test("dwells on what the user asked for", async () => {
    const session = await stage();
    await left(session, "Try oak.", { focus: "the hinges" });
    expect(lastRequest(session)).toContain("Focus on this: the hinges");
  });

  test("is left to whoever brings instructions of their own", async () => {
    const session = await stage();
    await left(session, "Try oak.", { focus: "Write a haiku.", replaceInstructions: true });
    expect(lastRequest(session)).toContain("Write a haiku.");
    expect(lastRequest(session)).not.toContain("log of decisions");
  });

  test("is not made where none is wanted; compactions are as ever", async () => {
    const session = await stage({ summaries: undefined as never });
    expect((await left(session, "Try oak.", { summarise: false })).summaryEntry).toBeUndefined();
    await session.prompt("Words and words. ".repeat(6_000));
    await session.prompt("Go on.");
    expect((await session.agent.compact()).status).toBe("compacted");
    expect(lastRequest(session)).not.toContain("log of decisions");
  });

  test("that fails leaves the session where it was", async () => {
    const session = await stage({ summaries: () => ({ error: { status: 400, message: "no" } }) });
    await expect(left(session, "Try oak.")).rejects.toMatchObject({ code: "branch_summary_failed" });
    expect(session.session.projection().items.at(-2)?.message).toMatchObject({ content: "Try oak." });
    expect(await decisions(session)).toBe(
      "No notes yet. To write one, leave a branch with /tree and choose a summary.",
    );
  });

  test("that is cancelled leaves the session where it was", async () => {
    const stop = new AbortController();
    const session = await stage({
      summaries: () => {
        stop.abort();
        return "## Question\nNone.";
      },
    });
    const first = session.session.entries().find(({ type }) => type === "message")!;
    const moved = await session.agent.navigate(first.id, { summarise: true, signal: stop.signal });
    expect(moved).toMatchObject({ status: "cancelled" });
    expect(session.session.entries().some(({ type }) => type === "branch_summary")).toBe(false);
  });
});

describe("/decisions", () => {
  test("shows the notes of all branches, oldest first, as they were written, with their labels", async () => {
    const session = await stage();
    const oak = await left(session, "Try oak.", { label: "oak" });
    const hinge = await left(session, "Try brass.");
    const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d`;
    expect((await decisions(session)).split("\n\n")).toEqual([
      expect.stringMatching(new RegExp(`^# oak, ${time}, branch ending at ${oak.previousLeafId}$`)),
      "## Question\nOak or pine?",
      "## Decision\nOak.",
      expect.stringMatching(new RegExp(`^# ${time}, branch ending at ${hinge.previousLeafId}$`)),
      "## Question\nWhich hinge?",
    ]);
  });

  test("with words shows the notes that have them all", async () => {
    const session = await stage();
    await left(session, "Try oak.");
    await left(session, "Try brass.");
    expect(await decisions(session, "PINE  oak")).toContain("Oak or pine?");
    expect(await decisions(session, "pine oak")).not.toContain("hinge");
    expect(await decisions(session, "pine hinge")).toBe(
      "No note contains all these words: pine hinge (searched 2).",
    );
  });

  test("shows notes that came from elsewhere and from the digest, without an agent, as a notice without a UI", async () => {
    const session = await stage({ withAgent: false, ui: undefined as never });
    const { id } = session.session.append({ type: "custom", customType: "x" });
    session.session.append({ type: "branch_summary", fromId: "", summary: "Ash." });
    session.session.append({ type: "branch_summary", fromId: id, summary: "Elm.", isMerge: true });
    session.session.append({ type: "branch_summary", fromId: id, summary: " Pine was no good. " });
    const details = { prose: "## Goal\nOak" };
    session.session.append({ type: "branch_summary", fromId: id, summary: "Frame\n## Goal\nOak", details });
    await session.command("/decisions");
    const [{ message } = { message: "" }] = session.notices;
    expect(message).toContain(", branch\n\nAsh.");
    expect(message).toContain(`, merged branch ending at ${id}\n\nElm.`);
    expect(message).toContain(`branch ending at ${id}\n\nPine was no good.\n\n#`);
    expect(message.endsWith(`branch ending at ${id}\n\n## Goal\nOak`)).toBe(true);
  });
});
