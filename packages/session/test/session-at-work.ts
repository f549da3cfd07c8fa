import { mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { messageText } from "@bonsai-agent/messages";
import { createSession, openSession, type Session } from "../src/index.ts";

/** A session file in a folder of its own. */
export function newFile(): string {
  return join(mkdtempSync(join(tmpdir(), "cut-off-")), "day.jsonl");
}

/** A session of seven entries that were read, opened, and seven more that are appended. */
export function atWork(file = newFile()): { session: Session; file: string; said: string[] } {
  const earlier = createSession({ cwd: "/home/dev/shop", file });
  const said = Array.from({ length: 14 }, (_, at) => `said ${at}`);
  for (const text of said.slice(0, 7)) say(earlier, text);
  earlier.close();
  const session = openSession(file);
  for (const text of said.slice(7)) say(session, text);
  return { session, file, said };
}

/** Appends a text of the user. */
export function say(session: Session, text: string): void {
  session.append({ type: "message", message: { role: "user", content: text, timestamp: 0 } });
}

/** A line of another program. */
export function lineOf(id: string, text: string): string {
  const message = { role: "user", content: text, timestamp: 0 };
  const place = { id, parentId: null, timestamp: "2026-01-01T00:00:00.000Z" };
  return `${JSON.stringify({ type: "message", ...place, message })}\n`;
}

/** All texts of a file. */
export function textsOf(file: string): string[] {
  const session = openSession(file);
  const texts = session
    .entries()
    .flatMap((entry) => (entry.type === "message" ? [messageText(entry.message)] : []));
  session.close();
  return texts;
}

/** The texts of a path, by default the one to the leaf. */
export function pathOf(file: string, leafId?: string | null): string[] {
  const session = openSession(file);
  const texts = session
    .path(leafId ?? session.leafId)
    .flatMap((entry) => (entry.type === "message" ? [messageText(entry.message)] : []));
  session.close();
  return texts;
}

export const codes = (session: Session) => session.notices.map(({ code }) => code);

export const sizeAfter = (file: string, lines: number) =>
  Buffer.byteLength(`${readFileSync(file, "utf8").split("\n").slice(0, lines).join("\n")}\n`);

export const damages: [string, (file: string) => void][] = [
  ["in the middle of the file", (file) => truncateSync(file, sizeAfter(file, 8))],
  ["within its last line, by a brace", (file) => truncateSync(file, statSync(file).size - 2)],
  ["in the middle of a line", (file) => truncateSync(file, sizeAfter(file, 8) + 30)],
  ["to nothing", (file) => truncateSync(file, 0)],
  ["in the middle of the header", (file) => truncateSync(file, 20)],
  ["to zero bytes of the same number", (file) => writeFileSync(file, Buffer.alloc(statSync(file).size))],
];

export const restored = (file: string) => join(dirname(file), "day.restored.jsonl");

export const removals: typeof damages = [...damages, ["away", (file) => rmSync(file)]];
