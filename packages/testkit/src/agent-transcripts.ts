import { contentText, type Message } from "@bonsai-agent/messages";

/** A message, or a compaction with the text of its summary. */
export type TranscriptItem = Message | { summary: string };

type Row = Record<string, unknown>;

const START = Date.UTC(2026, 1, 10, 9);

function jsonLines(rows: readonly Row[]): string {
  const lines = rows.map((row, at) =>
    JSON.stringify({ ...row, timestamp: new Date(START + at * 1000).toISOString() }),
  );
  return `${lines.join("\n")}\n`;
}

/** Writes a transcript as Claude Code does. Leaves out messages that are not of the user, the agent or a tool. */
export function claudeCodeTranscript(items: readonly TranscriptItem[], sessionId = "session-1"): string {
  const rows: Row[] = [];
  let parentUuid: string | null = null;
  const add = (row: Row) => {
    const uuid = `uuid-${rows.length}`;
    const common = { isSidechain: false, sessionId, cwd: "/home/dev/project", version: "2.1.42" };
    rows.push({ parentUuid, uuid, ...common, ...row });
    parentUuid = uuid;
  };
  items.forEach((item, at) => {
    if ("summary" in item && !("role" in item)) {
      const compactMetadata = { trigger: "auto", preTokens: 160_000 };
      const logicalParentUuid = parentUuid;
      parentUuid = null;
      add({ type: "system", subtype: "compact_boundary", logicalParentUuid, compactMetadata });
      const content = `This session is being continued from a previous conversation.\n${item.summary}`;
      add({ type: "user", isCompactSummary: true, message: { role: "user", content } });
    } else if (item.role === "user")
      add({ type: "user", message: { role: "user", content: contentText(item.content) } });
    else if (item.role === "toolResult") {
      const [content, is_error] = [contentText(item.content), item.isError];
      const result = { type: "tool_result", tool_use_id: item.toolCallId, content, is_error };
      add({ type: "user", message: { role: "user", content: [result] }, toolUseResult: { stdout: content } });
    } else if (item.role === "assistant")
      for (const block of item.content) {
        const content =
          block.type === "text"
            ? { type: "text", text: block.text }
            : block.type === "toolCall"
              ? { type: "tool_use", id: block.id, name: block.name, input: block.arguments }
              : { type: "thinking", thinking: block.thinking };
        const usage = { input_tokens: 1, output_tokens: 1 };
        const message = {
          role: "assistant",
          id: `msg-${at}`,
          model: "claude-sonnet-4-5",
          content: [content],
          usage,
        };
        add({ type: "assistant", message });
      }
  });
  return jsonLines(rows);
}

/**
 * Writes a rollout as Codex does.
 * @param isReadable false for an encrypted summary. Default: true
 */
export function codexTranscript(items: readonly TranscriptItem[], isReadable = true): string {
  const rows: Row[] = [];
  const add = (type: string, payload: Row) => rows.push({ type, payload });
  const message = (role: string, type: string, text: string) => ({
    ...{ type: "message", role },
    content: [{ type, text }],
  });
  const asked: Row[] = [];
  add("session_meta", { id: "session-1", cwd: "/home/dev/project", cli_version: "0.149.0" });
  for (const item of items) {
    if ("summary" in item && !("role" in item)) {
      const text = `Another language model started to solve this problem.\n${item.summary}`;
      const last = isReadable
        ? message("user", "input_text", text)
        : { type: "compaction", encrypted_content: "gAAA" };
      add("compacted", { message: isReadable ? item.summary : "", replacement_history: [...asked, last] });
    } else if (item.role === "user") {
      asked.push(message("user", "input_text", contentText(item.content)));
      add("response_item", asked.at(-1)!);
    } else if (item.role === "toolResult")
      add("response_item", {
        type: "function_call_output",
        call_id: item.toolCallId,
        output: `Exit code: ${item.isError ? 1 : 0}\n${contentText(item.content)}`,
      });
    else if (item.role === "assistant")
      for (const block of item.content) {
        if (block.type === "text") add("response_item", message("assistant", "output_text", block.text));
        if (block.type !== "toolCall") continue;
        const call = { name: block.name, arguments: JSON.stringify(block.arguments), call_id: block.id };
        add("response_item", { type: "function_call", ...call });
      }
  }
  return jsonLines(rows);
}
