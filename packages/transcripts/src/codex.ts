import {
  type AssistantContent,
  type AssistantMessage,
  contentText,
  type Usage,
  type UserContent,
} from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import { eventContent, promptsInEvents, type TokenCount, tokenCounts } from "./codex-events.ts";
import {
  answerContent,
  callId,
  codexRecord,
  hostedResult,
  itemContent,
  OPAQUE_ITEMS,
  OUTPUT_ITEMS,
  outputOf,
  readCompacted,
} from "./codex-items.ts";
import { userDrafts } from "./injected.ts";
import { type Fields, fieldsAt, isoTime, type JsonLine, numberAt, stringAt } from "./json-lines.ts";
import type { NoticeLog } from "./notices.ts";
import {
  assistantDraft,
  countSkipped,
  injectedDraft,
  resultDraft,
  Trail,
  type Transcript,
  unreadableDraft,
} from "./step.ts";

/** Lines that hold state of the program, not conversation. */
const STATE_TYPES = new Set(["world_state", "token_usage_record", "record_type/state"]);

/** Reads a rollout of Codex: `sessions/YYYY/MM/DD/rollout-….jsonl`. */
export function readCodex(lines: readonly JsonLine[], notices: NoticeLog): Transcript {
  const reader = new CodexReader(notices);
  const counts = tokenCounts(lines);
  const prompts = promptsInEvents(lines);
  for (const [at, line] of lines.entries())
    reader.read(line, { count: counts.get(at), isPrompt: prompts.has(at) });
  return reader.finish();
}

/** What of an event is known from the records around it. */
interface EventSense {
  count: TokenCount | undefined;
  /** True for a prompt that no item says. */
  isPrompt: boolean;
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
  /** The latest answer of this turn, as long as nobody counted for it. */
  #uncounted: AssistantMessage | undefined;
  /** Counts that were written before the answer that they are of. */
  #pending: Usage | undefined;
  #isCancelled = false;

  constructor(notices: NoticeLog) {
    this.#notices = notices;
  }

  read({ line, value }: JsonLine, sense: EventSense): void {
    const at = isoTime(value.timestamp);
    const { type, payload } = codexRecord(value);
    this.#trail.source = line;
    this.#notices.place = line;
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
        this.#readEvent(payload, sense, line, at);
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
    this.#countApart(this.#pending, "line:end");
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
    this.#isCancelled = false;
    this.#answer ??= this.#begunAnswer(line, at);
    this.#answer.content.push(...content);
    const result = hostedResult(item);
    if (result !== undefined)
      this.#addResult(callId(item, line), { content: result, isError: false }, line, at);
  }

  #begunAnswer(line: number, at: string | undefined) {
    const usage = this.#pending;
    this.#pending = undefined;
    return { content: [], line, at, ...(usage === undefined ? {} : { usage }) };
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
    const content = itemContent(item.content, this.#notices, line);
    this.#addSaid(content, stringAt(item, "role") ?? "user", { key, line, at });
  }

  #addSaid(
    content: UserContent[],
    role: string,
    { key, line, at }: { key: string; line: number; at: string | undefined },
  ): void {
    this.#closeAnswer();
    if (content.length === 0) {
      this.#notices.add("empty_messages", line);
      return;
    }
    const drafts = userDrafts({
      content,
      customType: role === "user" ? "codex.context" : `codex.${role}`,
      at,
      injected: role !== "user",
    });
    for (const draft of drafts) {
      if (draft.type === "message") this.#beginTurn();
      else if (isAbortMark(draft)) this.#cancel(line, at);
      this.#trail.add({ key, at, draft });
    }
  }

  #beginTurn(): void {
    this.#uncounted = undefined;
    this.#isCancelled = false;
  }

  /** An item and an event can both say it. */
  #cancel(line: number, at: string | undefined): void {
    this.#closeAnswer();
    if (this.#isCancelled) return;
    this.#isCancelled = true;
    this.#notices.add("cancelled_turns", line);
    const turn = { provider: this.#provider, model: this.#model, parent: this.#trail.head };
    this.#trail.head = this.#trail.cancel({ key: `line:${line}`, at, ...turn });
  }

  #addUnreadable(item: Fields, line: number, at: string | undefined): void {
    this.#closeAnswer();
    this.#notices.add("unreadable_compaction", line);
    this.#trail.add({ key: `line:${line}`, at, draft: unreadableDraft("codex", item) });
  }

  #closeAnswer(): void {
    const answer = this.#answer;
    this.#answer = undefined;
    if (answer === undefined) return;
    if (answer.content.length === 0) {
      this.#countApart(answer.usage, `line:${answer.line}`);
      return;
    }
    const { content, at, usage } = answer;
    const draft = assistantDraft({ content, provider: this.#provider, model: this.#model, at, usage });
    this.#trail.add({ key: `line:${answer.line}`, at, draft });
    this.#uncounted = usage === undefined ? draft.message : undefined;
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

  /** Of the events, only what items do not say: usage, names, what was rewound or stopped, and lost prompts. */
  #readEvent(event: Fields, sense: EventSense, line: number, at: string | undefined): void {
    if (event.type === "token_count") {
      if (sense.count !== undefined) this.#readCount(sense.count, line);
      return;
    }
    if (event.type === "user_message" && sense.isPrompt) {
      this.#notices.add("event_prompts", line);
      this.#addSaid(eventContent(event, this.#notices, line), "user", { key: `line:${line}`, line, at });
      return;
    }
    if (event.type === "thread_rolled_back") this.#rewind(numberAt(event, "num_turns"));
    else if (event.type === "turn_aborted") this.#cancel(line, at);
    else this.#skipEvent(event);
  }

  #skipEvent(event: Fields): void {
    if (event.type === "thread_name_updated") this.#name = stringAt(event, "thread_name") ?? this.#name;
    countSkipped(this.#skipped, `event_msg/${stringAt(event, "type") ?? "untyped"}`);
  }

  /** Gives a request's counts to its answer; each request is counted once, also one without an answer. */
  #readCount({ usage, lost, isRestart, isBefore }: TokenCount, line: number): void {
    if (isRestart) this.#notices.add("counts_restarted", line);
    this.#countApart(lost, `line:${line}/lost`);
    if (isBefore) {
      this.#countApart(this.#pending, `line:${line}`);
      this.#pending = usage;
      // Items that follow are of another request than those before.
      this.#closeAnswer();
      return;
    }
    this.#closeAnswer();
    if (this.#uncounted === undefined) this.#countApart(usage, `line:${line}`);
    else this.#uncounted.usage = usage;
    this.#uncounted = undefined;
  }

  #countApart(usage: Usage | undefined, key: string): void {
    if (usage === undefined) return;
    this.#closeAnswer();
    this.#notices.add("usage_apart");
    const draft = {
      type: "usage",
      kind: "request",
      provider: this.#provider,
      model: this.#model,
      usage,
    } as const;
    this.#trail.add({ key: `${key}/usage`, at: undefined, draft });
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

function isAbortMark(draft: EntryDraft): boolean {
  return (
    draft.type === "custom_message" && contentText(draft.content).trimStart().startsWith("<turn_aborted")
  );
}
