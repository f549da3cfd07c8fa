import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  compactionSettings,
  digestSummariser,
  mergeBranch,
  pinMessage,
  runCompaction,
  type Summariser,
} from "@bonsai-agent/compaction";
import { emptyUsage, readableSummary } from "@bonsai-agent/messages";
import { FRAMES, framed, MARKS } from "@bonsai-agent/messages/host";
import { SessionPage } from "@bonsai-agent/page";
import { createSession, type Session } from "@bonsai-agent/session";
import { history } from "@bonsai-agent/testkit";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";
import { previewOf } from "../src/views/preview.ts";
import { oneLine } from "../src/views/terminal-text.ts";
import { runCli } from "./run-cli.ts";

const folder = mkdtempSync(join(tmpdir(), "bonsai-screens-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The beginnings of the bracketed sentences of frames. */
const frameSentences = Object.values(FRAMES)
  .map((frame) => (typeof frame === "function" ? frame("x" as never) : frame))
  .flatMap(({ begin, end }) => [begin, end])
  .flatMap((sentence) => /^\[([^,.:\]]+)/.exec(sentence)?.[1]?.replace(/ x\b.*/, "") ?? []);

/** Texts that Bonsai puts around others, for models only; and its own names for entries. */
const frames = [
  ..."pinned user-words terms put-back read-files modified-files latest-request conversation"
    .split(" ")
    .flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
  ..."previous-summary focus summary system-reminder".split(" ").flatMap((tag) => [`<${tag}>`, `</${tag}>`]),
  ...frameSentences.map((sentence) => `[${sentence}`),
  ...["## Kept word for word", "## Carried Over", MARKS.splitTurn, "No earlier history.", "*&#42;Turn"],
  ...["The user pinned this text", "The user unpinned this text", "[End of the pinned text"],
  ...["bonsai.", "custom_message", "&lt;", "&#"],
];

const piece = fc.constantFrom(
  ...frames.filter((frame) => !/^&|^bonsai|^custom_m|^\*&/.test(frame)),
  ..."fix the cart total in src/cart.ts &lt;div> &amp; &#65; <b> </b> **bold** _x_ `a` # [x] (1) { } 漢字".split(
    " ",
  ),
);
const text = fc.array(piece, { minLength: 1, maxLength: 8 }).map((pieces) => `Take ${pieces.join(" ")} now`);

/** A model that repeats the user's words, and wraps its summary in the tags that it was shown. */
function echo(texts: readonly string[]): Summariser {
  const titles = ["Constraints & Preferences", "Progress", "Key Decisions", "Next Steps", "Critical Context"];
  const sections = titles.map((title) => `## ${title}\n- ${texts[0]}`).join("\n\n");
  const said = `## Goal\nShip it: ${texts.join("; ")}\n\n${sections}\n\n---\n\n${MARKS.splitTurn}\n\nRest.`;
  return {
    name: "echo",
    async summarise() {
      return { text: `<summary>\n${said}\n</summary>`, stopReason: "stop", usage: emptyUsage() };
    },
  };
}

let files = 0;

async function sessionOf(texts: readonly string[], summariser: Summariser): Promise<Session> {
  files += 1;
  const file = join(folder, `${files}.jsonl`);
  const { session } = history("", createSession({ cwd: "/project", file }));
  const say = (said: string) => {
    const content = [{ type: "text" as const, text: said }];
    const entry = session.append({ type: "message", message: { role: "user", content, timestamp: 0 } });
    history("A:60", session);
    return entry;
  };
  const settings = compactionSettings({ keepRecentTokens: 10, mask: { enabled: false } });
  const [first = "", ...others] = texts;
  session.append({ type: "custom_message", ...pinMessage(session, first) });
  const root = say(first);
  for (const other of others) say(other);
  const branch = session.leafId!;
  await runCompaction({ session, settings, summariser, focus: first });
  say(first);
  say(others[0] ?? first);
  const second = await runCompaction({ session, settings, summariser, focus: first });
  session.moveTo(root.id);
  say(others[0] ?? first);
  await mergeBranch({ session, settings, summariser, branchId: branch }).catch(() => undefined);
  session.append({
    type: "branch_summary",
    fromId: root.id,
    summary: framed(FRAMES.branchRecord, "## Goal\nRest."),
  });
  session.append({
    type: "compaction",
    summary: framed(FRAMES.record, "Rest."),
    firstKeptEntryId: root.id,
    tokensBefore: 9,
  });
  const data = { compactionId: second.entryId ?? root.id };
  for (const customType of ["bonsai.undo", "bonsai.redo", "bonsai.beside", "bonsai.unknown", "todo.list"])
    session.append({ type: "custom", customType, data });
  for (const customType of ["bonsai.continue", "bonsai.import.queued", "todo.note"])
    session.append({ type: "custom_message", customType, content: "Go on.", display: true });
  session.append({ type: "label", targetId: root.id, label: "start" });
  session.append({ type: "usage", kind: "session_digest", provider: "a", model: "b", usage: emptyUsage() });
  session.append({ type: "session_info", name: "Rest" });
  return session;
}

async function screensOf(session: Session): Promise<string[]> {
  const file = session.file!;
  const commands = [
    ["tree", file, "--all"],
    ["show", file],
    ["context", file],
    ["search", "--in", file, "e"],
  ];
  const printed: string[] = [];
  for (const argv of commands) printed.push((await runCli(argv, { columns: 4_000 })).stdout);
  const page = new SessionPage(session);
  const data = page.data();
  const bodies = data.chunks.flatMap((place) => page.bodies(place));
  const parts = bodies.flatMap(({ parts, summary }) => [
    ...parts.flatMap((part) => (part.type === "markdown" ? [part.text] : [])),
    ...(summary?.lines.map((line) => line.text) ?? []),
  ]);
  return [...printed, data.rows.previews.join("\n"), parts.join("\n")];
}

test("Law: no screen shows a frame or a reference that the user did not type, and typed texts stay as typed", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(text, { minLength: 2, maxLength: 5 }),
      fc.boolean(),
      async (texts, isDigest) => {
        const session = await sessionOf(texts, isDigest ? digestSummariser() : echo(texts));
        const typed = texts.join("\n");
        for (const screen of await screensOf(session))
          for (const frame of frames.filter((each) => !typed.includes(each)))
            expect(screen.includes(frame), `${frame} in ${around(screen, frame)}`).toBe(false);
        const shown = texts.map((each) => readableSummary(each));
        for (const { entry } of session.scan()) {
          if (entry.type === "message" && entry.message.role === "user")
            expect(texts.map((each) => oneLine(each))).toContain(previewOf(entry));
          if (entry.type === "compaction" && entry.fromHook !== true && entry.details)
            expect(readableSummary(entry.summary)).toContain(shown[0]);
        }
        session.close();
      },
    ),
    { numRuns: 6 },
  );
});

function around(text: string, found: string): string {
  const at = text.indexOf(found);
  return text.slice(Math.max(0, at - 60), at + 60);
}
