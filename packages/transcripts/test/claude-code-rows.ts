import { type ImportResult, importTranscript } from "@bonsai-agent/transcripts";
import { projectionText } from "./projection-text.ts";
import { transcriptFile } from "./transcript-file.ts";

/** A record of a transcript of Claude Code. */
export type Row = Record<string, unknown>;

/** Writes rows, each a second after the one before. */
export function imported(...rows: Row[]): ImportResult {
  const lines = rows.map((row, at) =>
    JSON.stringify({
      sessionId: "s",
      ...(row.type === "queue-operation" ? {} : { isSidechain: false, cwd: "/p", version: "2.1.42" }),
      timestamp: `2026-02-10T09:00:${String(at).padStart(2, "0")}.000Z`,
      ...row,
    }),
  );
  return importTranscript({ path: transcriptFile(`${lines.join("\n")}\n`) });
}

export const user = (uuid: string, parentUuid: string | null, content: unknown, more: Row = {}): Row => ({
  ...{ type: "user", uuid, parentUuid, message: { role: "user", content } },
  ...more,
});
export const answer = (
  uuid: string,
  parentUuid: string | null,
  id: string,
  content: Row[],
  more: Row = {},
): Row => ({
  type: "assistant",
  uuid,
  parentUuid,
  message: { role: "assistant", id, model: "claude-sonnet-4-5", content, usage: { input_tokens: 1 } },
  ...more,
});
export const call = (id: string): Row => ({ type: "tool_use", id, name: "Bash", input: { command: id } });
export const says = (text: string): Row => ({ type: "text", text });
export const result = (id: string): Row => ({ type: "tool_result", tool_use_id: id, content: `ran ${id}` });
export const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } };
export const queue = (operation: string, content?: unknown, more: Row = {}): Row => ({
  ...{ type: "queue-operation", operation },
  ...(content === undefined ? {} : { content }),
  ...more,
});
export const queued = (uuid: string, parentUuid: string, prompt: unknown): Row => ({
  ...{ type: "attachment", uuid, parentUuid },
  attachment: { type: "queued_command", prompt, commandMode: "prompt" },
});

export const BEGIN = [user("u1", null, "Mend it."), answer("a1", "u1", "m1", [call("one")])];
export const seen = (result: ImportResult) => projectionText(result);
export const users = (result: ImportResult) => seen(result).filter((line) => line.startsWith("U "));
export const kinds = (result: ImportResult) =>
  result.report.notices.map(({ kind, lines }) => `${kind} ${lines.join(",")}`.trim());

export const SEEN = ["U Mend it.", "A Bash(one)", "R Bash ran one"];
