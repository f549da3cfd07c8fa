import { contentText, type StopReason, type UserContent } from "@bonsai-agent/messages";
import { userDrafts } from "../import/injected.ts";
import { type Fields, fieldsAt, isoTime, nameOf, numberAt, stringAt } from "../import/json-lines.ts";
import type { NoticeLog } from "../import/notices.ts";
import {
  assistantDraft,
  countSkipped,
  maskDraft,
  omitDraft,
  resultDraft,
  type Step,
  StepList,
  type Transcript,
  text,
} from "../import/step.ts";
import {
  answerOf,
  fileContent,
  type OpenCodeMessage,
  type OpenCodeSession,
  parentId,
  partCallId,
  partResult,
  requestsOf,
  tokensUsage,
} from "./records.ts";

/** Reads a session of OpenCode, from its storage folder or from `opencode export`. */
export function readOpenCode(session: OpenCodeSession, notices: NoticeLog): Transcript {
  return new OpenCodeReader(session, notices).read();
}

interface Pruned {
  target: string;
  atMs: number;
}

class OpenCodeReader {
  readonly #steps = new StepList();
  readonly #session: OpenCodeSession;
  readonly #notices: NoticeLog;
  readonly #skipped = new Map<string, number>();
  /** By message id: its first step, for the kept part of a compaction. */
  readonly #firstSteps = new Map<string, string>();
  /** Ids of the user messages that asked for a compaction. */
  readonly #requests: ReadonlySet<string>;
  /** Tool results that were pruned later on, in order of that time. */
  #pruned: Pruned[] = [];

  constructor(session: OpenCodeSession, notices: NoticeLog) {
    this.#session = session;
    this.#notices = notices;
    this.#requests = compactionRequests(session.messages);
  }

  read(): Transcript {
    const { info, messages, childIds } = this.#session;
    const beforeRevert = this.#readAll(messages, stringAt(fieldsAt(info, "revert"), "messageID"));
    this.#enter(undefined);
    this.#maskUntil(Number.POSITIVE_INFINITY);
    if (parentId(info) !== undefined) this.#notices.add("sub_agent", parentId(info));
    for (const child of childIds) this.#notices.add("sub_agents_apart", child);
    return {
      id: stringAt(info, "id") ?? "unknown",
      cwd: stringAt(info, "directory") ?? this.#pathOfAnswers(),
      name: stringAt(info, "title"),
      version: stringAt(info, "version"),
      steps: this.#steps.steps,
      leaf: beforeRevert === undefined ? this.#steps.head : beforeRevert,
      notices: this.#notices,
      skipped: this.#skipped,
      subAgents: [],
    };
  }

  #enter(id: string | undefined): void {
    this.#steps.source = id;
    this.#notices.place = id;
  }

  /** Old sessions have no folder of their own; their answers name it. */
  #pathOfAnswers(): string | undefined {
    const paths = this.#session.messages.map(({ info }) => stringAt(fieldsAt(info, "path"), "cwd"));
    return paths.find((path) => path !== undefined);
  }

  /** Returns the place before what the user reverted, if any; the reverted part stays as a branch. */
  #readAll(messages: readonly OpenCodeMessage[], revertedId: string | undefined): string | null | undefined {
    const summaries = summariesByRequest(messages, this.#requests);
    let beforeRevert: string | null | undefined;
    for (const message of messages) {
      const { info } = message;
      this.#enter(stringAt(info, "id"));
      if (info.id === revertedId) {
        beforeRevert = this.#steps.head;
        this.#notices.add("rewound");
      }
      this.#maskUntil(numberAt(fieldsAt(info, "time"), "created"));
      const before = this.#steps.steps.length;
      if (info.role === "user") this.#readUser(message, summaries.get(nameOf(info.id)));
      else if (info.role === "assistant") this.#readAssistant(message, summaries);
      else this.#unknown(`message/${stringAt(info, "role") ?? "untyped"}`);
      const first = this.#steps.steps[before];
      if (first !== undefined) this.#firstSteps.set(nameOf(info.id), first.key);
    }
    return beforeRevert;
  }

  #readUser(message: OpenCodeMessage, summary: OpenCodeMessage | undefined): void {
    const compaction = message.parts.find((part) => part.type === "compaction");
    if (compaction === undefined) {
      this.#readUserParts(message);
      return;
    }
    if (summary === undefined) {
      this.#notices.add("failed_compaction");
      return;
    }
    this.#addCompaction(summary, stringAt(compaction, "tail_start_id"), { auto: compaction.auto === true });
  }

  #readUserParts({ info, parts }: OpenCodeMessage): void {
    const own: UserContent[] = [];
    const synthetic: UserContent[] = [];
    for (const part of parts) {
      if (part.type === "text" && part.ignored !== true) {
        (part.synthetic === true ? synthetic : own).push(text(stringAt(part, "text") ?? ""));
      } else if (part.type === "file") this.#readFile(part, own);
      else if (part.type === "subtask") synthetic.push(text(subtaskText(part)));
      else countSkipped(this.#skipped, `part/${stringAt(part, "type") ?? "untyped"}`);
    }
    const at = createdAt(info);
    if (own.length + synthetic.length === 0) {
      this.#notices.add("empty_messages");
      return;
    }
    const options = { customType: "opencode.synthetic", at };
    const drafts = [
      ...userDrafts({ ...options, content: own }),
      ...userDrafts({ ...options, content: synthetic, injected: true }),
    ];
    for (const draft of drafts) this.#steps.add({ key: nameOf(info.id), at, draft });
  }

  /** The text of attached text files stands in synthetic parts beside them. */
  #readFile(part: Fields, own: UserContent[]): void {
    if (part.mime === "text/plain" || part.mime === "application/x-directory") {
      countSkipped(this.#skipped, "part/file");
      return;
    }
    own.push(fileContent(part, this.#notices));
  }

  #readAssistant(message: OpenCodeMessage, summaries: ReadonlyMap<string, OpenCodeMessage>): void {
    const { info, parts } = message;
    if (info.summary === true) {
      this.#readSummary(message, summaries);
      return;
    }
    const stopReason = stopReasonOf(info);
    const requests = requestsOf(parts);
    // One that ended before anything came was asked for all the same.
    if (requests.length === 0 && stopReason !== undefined) requests.push({ parts: [], finish: undefined });
    const isCounted = requests.some((request) => request.finish !== undefined);
    if (stopReason === "aborted") this.#notices.add("cancelled_turns");
    const steps: Step[] = [];
    requests.forEach((request, index) => {
      const isLast = index === requests.length - 1;
      const usage = tokensUsage(request.finish) ?? (isLast && !isCounted ? tokensUsage(info) : undefined);
      const at = createdAt(info);
      const draft = assistantDraft({
        content: answerOf(request.parts),
        provider: stringAt(info, "providerID") ?? "unknown",
        model: stringAt(info, "modelID") ?? "unknown",
        at,
        usage,
        stopReason: isLast ? stopReason : undefined,
        errorMessage: isLast ? errorMessage(info) : undefined,
      });
      steps.push(this.#steps.add({ key: nameOf(info.id), at, draft }));
      steps.push(...this.#addResults(request.parts, at));
    });
    for (const part of parts) if (isSilent(part)) countSkipped(this.#skipped, `part/${part.type}`);
    if (isHidden(message)) this.#hide(steps, createdAt(info));
  }

  #addResults(parts: readonly Fields[], at: string | undefined): Step[] {
    return parts
      .filter((part) => part.type === "tool")
      .map((part) => {
        const time = fieldsAt(fieldsAt(part, "state"), "time");
        const draft = resultDraft({
          callId: partCallId(part),
          toolName: stringAt(part, "tool") ?? "unknown",
          at: isoTime(time?.end) ?? at,
          ...partResult(part, this.#notices),
        });
        const step = this.#steps.add({
          key: stringAt(part, "id") ?? partCallId(part),
          at: isoTime(time?.end) ?? at,
          draft,
        });
        const atMs = numberAt(time, "compacted");
        if (atMs > 0) this.#pruned.push({ target: step.key, atMs });
        return step;
      });
  }

  /** Failed requests never reach the model again; what an aborted one had already done does. */
  #hide(steps: readonly Step[], at: string | undefined): void {
    for (const { key } of steps) this.#steps.add({ key: `${key}/hidden`, at, draft: omitDraft(key) });
  }

  /** Masks results where they were pruned, so that earlier places in the tree still show them. */
  #maskUntil(timeMs: number): void {
    const due = this.#pruned.filter((pruned) => pruned.atMs <= timeMs).sort((a, b) => a.atMs - b.atMs);
    this.#pruned = this.#pruned.filter((pruned) => pruned.atMs > timeMs);
    for (const { target, atMs } of due) {
      this.#steps.add({ key: `${target}/pruned`, at: isoTime(atMs), draft: maskDraft(target) });
    }
  }

  /** A summary that its request does not name: older versions had no compaction part. */
  #readSummary(message: OpenCodeMessage, summaries: ReadonlyMap<string, OpenCodeMessage>): void {
    const request = nameOf(message.info.parentID);
    // One that is asked for by a compaction part was placed, or noticed, there.
    if (summaries.has(request) || this.#requests.has(request)) return;
    if (message.info.error !== undefined) {
      this.#notices.add("failed_compaction");
      return;
    }
    this.#addCompaction(message, undefined, {});
  }

  #addCompaction(
    summary: OpenCodeMessage,
    tailStartId: string | undefined,
    details: { auto?: boolean },
  ): void {
    const { info, parts } = summary;
    const tail = tailStartId === undefined ? undefined : this.#firstSteps.get(tailStartId);
    const usage = tokensUsage(info);
    this.#steps.add({
      key: nameOf(info.id),
      at: createdAt(info),
      draft: {
        type: "compaction",
        summary: contentText(parts.filter((part) => part.type === "text")),
        firstKeptEntryId: tail ?? "",
        tokensBefore: 0,
        ...(usage === undefined ? {} : { usage }),
        ...(Object.keys(details).length === 0 ? {} : { details }),
      },
    });
  }

  #unknown(type: string): void {
    this.#notices.add("unknown_record");
    countSkipped(this.#skipped, type);
  }
}

function compactionRequests(messages: readonly OpenCodeMessage[]): Set<string> {
  const requests = messages.filter(({ parts }) => parts.some((part) => part.type === "compaction"));
  return new Set(requests.map(({ info }) => nameOf(info.id)));
}

/** By the id of the user message that asked for it: each summary that was finished. */
function summariesByRequest(
  messages: readonly OpenCodeMessage[],
  requests: ReadonlySet<string>,
): Map<string, OpenCodeMessage> {
  const found = new Map<string, OpenCodeMessage>();
  for (const message of messages) {
    const { info } = message;
    const isFinished = info.summary === true && info.finish !== undefined && info.error === undefined;
    if (isFinished && requests.has(nameOf(info.parentID))) found.set(nameOf(info.parentID), message);
  }
  return found;
}

function createdAt(info: Fields): string | undefined {
  return isoTime(fieldsAt(info, "time")?.created);
}

function subtaskText(part: Fields): string {
  return `[Sub-task for agent ${stringAt(part, "agent") ?? "unknown"}] ${stringAt(part, "prompt") ?? ""}`;
}

function stopReasonOf(info: Fields): StopReason | undefined {
  const error = fieldsAt(info, "error");
  if (error !== undefined) return error.name === "MessageAbortedError" ? "aborted" : "error";
  return info.finish === "length" ? "length" : undefined;
}

function errorMessage(info: Fields): string | undefined {
  const error = fieldsAt(info, "error");
  return (
    stringAt(fieldsAt(error, "data"), "message") ?? stringAt(error, "message") ?? stringAt(error, "name")
  );
}

function isHidden({ info, parts }: OpenCodeMessage): boolean {
  const reason = stopReasonOf(info);
  if (reason === "aborted")
    return !parts.some((part) => part.type !== "step-start" && part.type !== "reasoning");
  return reason === "error";
}

/** Parts that are bookkeeping of the program. */
function isSilent(part: Fields): boolean {
  return !["text", "reasoning", "tool", "step-start", "step-finish"].includes(nameOf(part.type));
}
