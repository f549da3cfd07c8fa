import type { AssistantContent, AssistantMessage, Usage, UserContent } from "@bonsai-agent/messages";
import { readCompacted } from "./codex-compacted.ts";
import {
  answerContent,
  callId,
  hostedResult,
  itemContent,
  OPAQUE_ITEMS,
  OUTPUT_ITEMS,
  outputOf,
  tokenUsage,
} from "./codex-items.ts";
import { assistantDraft, injectedDraft, resultDraft, unreadableDraft } from "./content.ts";
import { type Fields, fieldsAt, isoTime, numberAt, stringAt } from "./fields.ts";
import { userDrafts } from "./injected.ts";
import type { JsonLine } from "./json-lines.ts";
import type { NoticeLog } from "./notices.ts";
import { countSkipped, Trail, type Transcript } from "./step.ts";

/** Lines that hold state of the program, not conversation. */
const STATE_TYPES = new Set(["world_state", "token_usage_record", "record_type/state"]);

/** Reads a rollout of Codex: `sessions/YYYY/MM/DD/rollout-….jsonl`. */
export function readCodex(lines: readonly JsonLine[], notices: NoticeLog): Transcript {
  const reader = new CodexReader(notices);
  for (const line of lines) reader.read(line);
  return reader.finish();
}

class CodexReader {
  readonly #trail = new Trail();
  readonly #notices: NoticeLog;
  readonly #skipped = new Map<string, number>();
  #meta: Fields | undefined;
  #name: string | undefined;
  #cwd: string | undefined;
  #model = "unknown";
  #provider = "openai";
  /** The answer being put together: items up to the next output or user message are one message. */
  #answer: { content: AssistantContent[]; line: number; at: string | undefined; usage?: Usage } | undefined;
  #lastAnswer: AssistantMessage | undefined;
  #totalTokens = -1;

  constructor(notices: NoticeLog) {
    this.#notices = notices;
  }

  read({ line, value }: JsonLine): void {
    const at = isoTime(value.timestamp);
    // The first versions wrote items without an envelope.
    const payload = fieldsAt(value, "payload") ?? value;
    const type = value.payload === undefined ? bareType(value) : stringAt(value, "type");
    switch (type) {
      case "session_meta":
        this.#readMeta(payload);
        return;
      case "turn_context":
        this.#readTurn(payload);
        return;
      case "response_item":
        this.#readItem(payload, line, at);
        return;
      case "compacted":
        this.#readCompacted(payload, line, at);
        return;
      case "event_msg":
        this.#readEvent(payload);
        return;
      case "inter_agent_communication":
        this.#readAgentMessage(payload, line, at);
        return;
      default:
        if (!STATE_TYPES.has(type ?? "")) this.#notices.add("unknown_record", line);
        countSkipped(this.#skipped, type ?? "untyped");
    }
  }

  finish(): Transcript {
    this.#closeAnswer();
    return {
      id: stringAt(this.#meta, "id") ?? "unknown",
      cwd: this.#cwd,
      name: this.#name,
      version: stringAt(this.#meta, "cli_version"),
      steps: this.#trail.steps,
      leaf: this.#trail.head,
      notices: this.#notices,
      skipped: this.#skipped,
      subAgents: [],
    };
  }

  /** A fork repeats the header of the session that it was forked from; the first is its own. */
  #readMeta(meta: Fields): void {
    if (this.#meta !== undefined) {
      countSkipped(this.#skipped, "session_meta");
      return;
    }
    this.#meta = meta;
    this.#cwd = stringAt(meta, "cwd");
    this.#provider = stringAt(meta, "model_provider") ?? this.#provider;
    if (stringAt(meta, "forked_from_id") !== undefined) this.#notices.add("forked");
    if (fieldsAt(meta, "source")?.subagent !== undefined) this.#notices.add("sub_agent");
  }

  #readTurn(turn: Fields): void {
    this.#model = stringAt(turn, "model") ?? this.#model;
    this.#cwd ??= stringAt(turn, "cwd");
  }

  #readItem(item: Fields, line: number, at: string | undefined): void {
    const content = answerContent(item, this.#notices, line);
    if (content !== undefined) {
      this.#addToAnswer(item, content, line, at);
      return;
    }
    if (OUTPUT_ITEMS.has(item.type)) {
      this.#readOutput(item, line, at);
      return;
    }
    if (item.type === "message") {
      this.#addMessage(item, `line:${line}`, line, at);
      return;
    }
    if (OPAQUE_ITEMS.has(item.type)) {
      this.#addUnreadable(item, line, at);
      return;
    }
    if (item.type !== "ghost_snapshot") this.#notices.add("unknown_record", line);
    countSkipped(this.#skipped, `response_item/${stringAt(item, "type") ?? "untyped"}`);
  }

  #addToAnswer(item: Fields, content: AssistantContent[], line: number, at: string | undefined): void {
    this.#answer ??= { content: [], line, at };
    this.#answer.content.push(...content);
    const result = hostedResult(item);
    if (result !== undefined)
      this.#addResult(callId(item, line), { content: result, isError: false }, line, at);
  }

  #readOutput(item: Fields, line: number, at: string | undefined): void {
    this.#addResult(callId(item, line), outputOf(item, this.#notices, line), line, at);
  }

  #addResult(
    id: string,
    output: { content: UserContent[]; isError: boolean },
    line: number,
    at: string | undefined,
  ): void {
    this.#closeAnswer();
    const draft = resultDraft({ callId: id, toolName: "unknown", at, ...output });
    this.#trail.add({ key: `line:${line}`, at, draft });
  }

  #addMessage(item: Fields, key: string, line: number, at: string | undefined): void {
    this.#closeAnswer();
    const content = itemContent(item.content, this.#notices, line);
    if (content.length === 0) {
      this.#notices.add("empty_messages", line);
      return;
    }
    const role = stringAt(item, "role") ?? "user";
    const drafts = userDrafts({
      content,
      customType: role === "user" ? "codex.context" : `codex.${role}`,
      at,
      injected: role !== "user",
    });
    for (const draft of drafts) this.#trail.add({ key, at, draft });
  }

  #addUnreadable(item: Fields, line: number, at: string | undefined): void {
    this.#closeAnswer();
    this.#notices.add("unreadable_compaction", line);
    this.#trail.add({ key: `line:${line}`, at, draft: unreadableDraft("codex", item) });
  }

  #closeAnswer(): void {
    const answer = this.#answer;
    this.#answer = undefined;
    if (answer === undefined || answer.content.length === 0) return;
    const { content, at, usage } = answer;
    const draft = assistantDraft({ content, provider: this.#provider, model: this.#model, at, usage });
    this.#trail.add({ key: `line:${answer.line}`, at, draft });
    this.#lastAnswer = draft.message;
  }

  #readCompacted(compacted: Fields, line: number, at: string | undefined): void {
    this.#closeAnswer();
    const readable = readCompacted(compacted, this.#trail.path());
    if (readable === undefined) {
      this.#addUnreadable({ type: "compacted", ...compacted }, line, at);
      return;
    }
    const { summary, carried } = readable;
    const draft = { type: "compaction", summary, firstKeptEntryId: "", tokensBefore: 0 } as const;
    this.#trail.add({ key: `line:${line}`, at, draft });
    for (const item of carried) this.#restate(item, line, at);
  }

  #restate(item: Fields, line: number, at: string | undefined): void {
    this.#notices.add("compaction_restated", line);
    this.#readItem(item, line, at);
  }

  /** Of the events, only what items do not say: usage, names, and what was rewound. */
  #readEvent(event: Fields): void {
    if (event.type === "token_count") {
      this.#readUsage(fieldsAt(event, "info"));
      return;
    }
    if (event.type === "thread_rolled_back") {
      this.#rewind(numberAt(event, "num_turns"));
      return;
    }
    if (event.type === "thread_name_updated") this.#name = stringAt(event, "thread_name") ?? this.#name;
    countSkipped(this.#skipped, `event_msg/${stringAt(event, "type") ?? "untyped"}`);
  }

  /** The same counts are reported again whenever rate limits change: only a new total is a new request. */
  #readUsage(info: Fields | undefined): void {
    const usage = tokenUsage(info);
    const total = numberAt(fieldsAt(info, "total_token_usage"), "total_tokens");
    if (usage === undefined || total === this.#totalTokens) return;
    this.#totalTokens = total;
    if (this.#answer !== undefined) this.#answer.usage = usage;
    else if (this.#lastAnswer !== undefined) this.#lastAnswer.usage = usage;
  }

  /** Goes back to before the nth last message of the user; what was rewound stays as a branch. */
  #rewind(turns: number): void {
    this.#closeAnswer();
    const starts = this.#trail
      .path()
      .filter(({ draft }) => draft.type === "message" && draft.message.role === "user");
    const target = turns < 1 ? undefined : (starts.at(-turns) ?? starts[0]);
    if (target === undefined) return;
    this.#notices.add("rewound");
    this.#trail.head = target.parent;
  }

  #readAgentMessage(payload: Fields, line: number, at: string | undefined): void {
    this.#closeAnswer();
    const content = stringAt(payload, "content");
    if (content === undefined || content === "") {
      this.#notices.add("unreadable", line);
      this.#trail.add({ key: `line:${line}`, at, draft: unreadableDraft("codex", payload) });
      return;
    }
    const from = stringAt(payload, "author") ?? "agent";
    this.#trail.add({ key: `line:${line}`, at, draft: injectedDraft("codex.agent", `[${from}] ${content}`) });
  }
}

/** What an old line without an envelope is. */
function bareType(value: Fields): string | undefined {
  if (value.type === undefined && value.id !== undefined && value.timestamp !== undefined)
    return "session_meta";
  if (value.record_type !== undefined) return `record_type/${value.record_type}`;
  return value.type === undefined ? undefined : "response_item";
}
