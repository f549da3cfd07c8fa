import { type ImportResult, importTranscript } from "@bonsai-agent/transcripts";
import { transcriptFile } from "./transcript-file.ts";

/** A record of a rollout of Codex. */
export type Line = [type: string, payload: object];

/** Imports a rollout with these records, a second after each other. */
export function rollout(version: string | undefined, ...lines: Line[]): ImportResult {
  const meta: Line = [
    "session_meta",
    { id: "c", cwd: "/p", ...(version === undefined ? {} : { cli_version: version }) },
  ];
  const text = [meta, ["turn_context", { model: "gpt-5-codex" }] as Line, ...lines]
    .map(([type, payload], at) =>
      JSON.stringify({ timestamp: new Date(Date.UTC(2026, 1, 3) + at * 1000).toISOString(), type, payload }),
    )
    .join("\n");
  return importTranscript({ path: transcriptFile(`${text}\n`) });
}

export const item = (payload: object): Line => ["response_item", payload];
export const event = (payload: object): Line => ["event_msg", payload];
export const asks = (text: string): Line =>
  item({ type: "message", role: "user", content: [{ type: "input_text", text }] });
export const typed = (message: string, more: object = {}): Line =>
  event({ type: "user_message", message, ...more });
export const answers = (text: string): Line =>
  item({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
export const calls = (id: string): Line =>
  item({ type: "function_call", name: "shell", arguments: "{}", call_id: id });
export const output = (id: string): Line =>
  item({ type: "function_call_output", call_id: id, output: `ran ${id}` });
