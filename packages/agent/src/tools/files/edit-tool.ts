import { textHead } from "@bonsai-agent/messages";
import { z } from "zod";
import { existingPath, type GuardedPath, type PathGuard } from "../path-guard.ts";
import { shownBytes, shownCount, shownLines } from "../result-text.ts";
import { defineTool, type Tool, type ToolResult } from "../tool-registry.ts";
import { applyChanges, planEdits, type TextChange, type TextEdit } from "./edit-plan.ts";
import { type FileDiff, fileDiff, inFileQueue, replaceFile } from "./file-change.ts";
import {
  decodeText,
  type EditorFiles,
  encodeText,
  fileKind,
  openFile,
  type TextFormat,
} from "./open-file.ts";

/** Larger files are data. An edit holds several copies of the file in memory. */
const MAX_EDITED_BYTES = 10 << 20;
/** Lines of the difference for the model. */
const MAX_SHOWN_DIFF_LINES = 40;
const MAX_SHOWN_DIFF_CHARS = 4_000;

const edit = z.object({
  oldText: z.string().describe("The text to replace, exactly as in the file; it must occur once."),
  newText: z.string().describe("The replacement."),
});

const parameters = z.object({
  path: z.string().min(1).describe("The file, relative to the working folder or absolute."),
  edits: z
    .array(edit)
    .optional()
    .describe(
      "Several edits of the file in one call. Each applies to the current file; they must not overlap.",
    ),
  oldText: edit.shape.oldText.optional().describe("The text to replace, if the call has no edits."),
  newText: edit.shape.newText.optional().describe("The replacement, if the call has no edits."),
});

type Input = z.output<typeof parameters>;

export function editTool(guard: PathGuard, editor?: EditorFiles): Tool {
  return defineTool({
    name: "edit",
    effects: "idempotent",
    label: "Edit",
    description:
      "Replaces text in a text file. Copy each oldText exactly from the file, without line numbers. It must occur only once: add neighbouring lines until it does. If one edit fails, the call changes nothing.",
    parameters,
    async execute({ input, signal }) {
      const edits = editsOf(input);
      const file = await existingPath(guard, { toolName: "edit", path: input.path, access: "write", signal });
      return inFileQueue(file.real, async () => {
        signal.throwIfAborted();
        return editFile(file, edits, { signal, editor });
      });
    },
  });
}

function editsOf({ edits = [], oldText, newText }: Input): TextEdit[] {
  const all = [...edits];
  if (oldText !== undefined && newText !== undefined) all.push({ oldText, newText });
  else if (oldText !== newText)
    throw new Error(
      `${oldText === undefined ? "oldText" : "newText"} is missing: a single edit needs oldText and newText.`,
    );
  if (all.length === 0) throw new Error("The call contains no edit. Give edits, or oldText and newText.");
  return all.map((one) => ({ oldText: withLf(one.oldText), newText: withLf(one.newText) }));
}

async function editFile(
  file: GuardedPath,
  edits: readonly TextEdit[],
  { signal, editor }: { signal: AbortSignal; editor: EditorFiles | undefined },
): Promise<ToolResult> {
  const { text, format } = await readWhole(file, signal, editor);
  const before = withLf(text);
  const { changes, isExact } = planEdits(before, edits);
  const after = applyChanges(before, changes);
  signal.throwIfAborted();
  const changed = applyChanges(text, inFileEndings(text, changes));
  const isSaved = await editor?.write?.(file.real, changed, signal);
  if (!isSaved) await replaceFile(file, encodeText(changed, format));
  const { shown: path } = file;
  const diff = fileDiff(before, after);
  const patch = diff.diff === "" ? "" : `--- ${path}\n+++ ${path}\n${diff.diff}`;
  return {
    content: [{ type: "text", text: report(path, diff, edits.length, isExact) }],
    details: { path, ...diff, patch },
  };
}

async function readWhole(
  file: GuardedPath,
  signal: AbortSignal,
  editor: EditorFiles | undefined,
): Promise<{ text: string; format: TextFormat }> {
  // A text from the editor has lost its encoding, so only the editor can write it back.
  const { handle, stats } = await openFile(file, signal, editor?.write && editor);
  try {
    if (stats.size > MAX_EDITED_BYTES)
      throw new Error(
        `${file.shown} has ${shownBytes(stats.size)}; edit accepts files up to ${shownBytes(MAX_EDITED_BYTES)}. Change it with a program in bash.`,
      );
    const kind = await fileKind(handle);
    if (kind.kind !== "text") {
      const what = kind.kind === "image" ? kind.mimeType : kind.what;
      throw new Error(
        `${file.shown} is not text: ${what}, ${shownBytes(stats.size)}. edit changes text files only.`,
      );
    }
    return { text: decoded(file, await handle.readFile(), kind), format: kind };
  } finally {
    await handle.close();
  }
}

/** @throws Error for bytes that could not be written back without loss */
function decoded({ shown }: GuardedPath, bytes: Buffer, format: TextFormat): string {
  const refusal = `${shown} is not valid UTF-8 or UTF-16, and editing would damage it. Convert it first, for instance with iconv in bash.`;
  if (format.encoding === "windows-1252") throw new Error(refusal);
  try {
    return decodeText(bytes, format);
  } catch (cause) {
    throw new Error(refusal, { cause });
  }
}

function report(shown: string, { diff, added, removed }: FileDiff, count: number, isExact: boolean): string {
  const made = count === 1 ? "1 edit" : `${count} edits`;
  const notes = isExact
    ? []
    : [
        "(oldText was not exact: differences in spaces at line ends, special characters or accents were ignored.)",
      ];
  const heading = `Edited ${shown}: ${made}, ${shownLines(added)} added, ${shownCount(removed)} removed.`;
  const whole = diff.trimEnd();
  const lines = whole.split("\n").slice(0, MAX_SHOWN_DIFF_LINES).join("\n");
  const short = textHead(lines, MAX_SHOWN_DIFF_CHARS);
  const cut = short.length < whole.length ? ["… (the diff is cut here)"] : [];
  return [heading, ...notes, short, ...cut].join("\n").trimEnd();
}

function withLf(text: string): string {
  return text.replaceAll("\r\n", "\n");
}

/** Converts changes to those of the text in the file. A replacement gets the line ends of the replaced text. */
function inFileEndings(text: string, changes: readonly TextChange[]): TextChange[] {
  // Positions of the removed `\r` in the text with `\n`.
  const removed = Array.from(text.matchAll(/\r\n/g), ({ index }, before) => index - before);
  const isCrlfFile = removed.length * 2 > text.split("\n").length - 1;
  let passed = 0;
  const inFile = (position: number) => {
    while (passed < removed.length && removed[passed]! < position) passed += 1;
    return position + passed;
  };
  return changes.map((change) => {
    const start = inFile(change.start);
    const end = inFile(change.end);
    const replaced = text.slice(start, end);
    const isCrlf = replaced.includes("\n") ? replaced.includes("\r\n") : isCrlfFile;
    const replacement = isCrlf ? change.replacement.replaceAll("\n", "\r\n") : change.replacement;
    return { start, end, replacement };
  });
}
