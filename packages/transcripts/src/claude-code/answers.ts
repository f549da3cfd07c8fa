import type { AssistantContent } from "@bonsai-agent/messages";
import type { EntryDraft } from "@bonsai-agent/session";
import { stringAt } from "../import/json-lines.ts";
import type { UuidNode } from "../import/uuid-tree.ts";
import { answerId, messageBlocks } from "./records.ts";

/** Adds steps in a row after `parent` and returns the last one. */
type AddSteps = (node: UuidNode, drafts: readonly EntryDraft[], parent: string | null) => string | null;

/** An answer and the row of steps after it. */
interface Answer {
  /** Key of its own step. */
  readonly step: string;
  /** The last step of its row. */
  end: string;
  /** Number of results that are still to come. */
  toCome: number;
  /** Other messages that were written among the results. */
  waiting: { node: UuidNode; drafts: readonly EntryDraft[] }[];
}

/**
 * The answers of one lane. Parallel results are siblings in the file; here they follow each other, and other messages
 * among them come after the last result.
 */
export class ClaudeCodeAnswers {
  readonly #addSteps: AddSteps;
  readonly #byId = new Map<string, Answer>();
  readonly #byStep = new Map<string | null, Answer>();
  readonly #byCall = new Map<string, Answer>();
  readonly #resultCounts: ReadonlyMap<string, number>;

  constructor(nodes: readonly UuidNode[], addSteps: AddSteps) {
    this.#addSteps = addSteps;
    this.#resultCounts = countResults(nodes);
  }

  add(id: string, step: string): Answer {
    const answer = { step, end: step, toCome: this.#resultCounts.get(id) ?? 0, waiting: [] };
    this.#byId.set(id, answer);
    this.#byStep.set(step, answer);
    return answer;
  }

  get(id: string): Answer | undefined {
    return this.#byId.get(id);
  }

  addCalls(answer: Answer, content: readonly AssistantContent[]): void {
    for (const block of content) if (block.type === "toolCall") this.#byCall.set(block.id, answer);
  }

  ofCall(callId: string): Answer | undefined {
    return this.#byCall.get(callId);
  }

  /** The answer of a step in a row. */
  ofStep(step: string | null): Answer | undefined {
    return this.#byStep.get(step);
  }

  /** The end of an answer's results, for messages after all of them. */
  tip(parent: string | null): string | null {
    const answer = this.ofStep(parent);
    if (answer === undefined) return parent;
    this.#addWaiting(answer);
    return answer.end;
  }

  /** Adds the first result of a call: as a step of the row, or elsewhere. */
  addResult(answer: Answer, step: string | undefined): void {
    if (step !== undefined) this.#extend(answer, step);
    answer.toCome -= 1;
    // Text beside the last result follows it.
    if (answer.toCome <= 0) this.#addWaiting(answer);
  }

  /**
   * Adds other messages. Among the results they come after the last one, also if that is still to come; after the results
   * they can be one of several branches.
   */
  addAside(
    node: UuidNode,
    drafts: readonly EntryDraft[],
    parent: string | null,
    isAmong = false,
  ): string | null {
    const answer = this.ofStep(parent);
    if (answer === undefined) return this.#addSteps(node, drafts, parent);
    if (answer.toCome <= 0 && !isAmong) return this.#addSteps(node, drafts, this.tip(parent));
    answer.waiting.push({ node, drafts });
    return answer.toCome > 0 ? parent : this.tip(parent);
  }

  /** Adds the messages that wait for results that never came. */
  addAllWaiting(): void {
    for (const answer of this.#byId.values()) this.#addWaiting(answer);
  }

  #addWaiting(answer: Answer): void {
    for (const { node, drafts } of answer.waiting.splice(0)) {
      const end = this.#addSteps(node, drafts, answer.end);
      if (end !== null) this.#extend(answer, end);
    }
  }

  #extend(answer: Answer, end: string): void {
    answer.end = end;
    this.#byStep.set(end, answer);
  }
}

/** Counts the results of each answer, by its id. Only the first result of a call counts. */
function countResults(nodes: readonly UuidNode[]): Map<string, number> {
  const open = new Map<string, string>();
  for (const { record, uuid } of nodes)
    for (const block of record.type === "assistant" ? messageBlocks(record) : []) {
      const call = block.type === "text" ? undefined : stringAt(block, "id");
      if (call !== undefined) open.set(call, answerId(record, uuid));
    }
  const counts = new Map<string, number>();
  for (const { record } of nodes)
    for (const block of record.type === "user" ? messageBlocks(record) : []) {
      const call = block.type === "tool_result" ? stringAt(block, "tool_use_id") : undefined;
      const answer = open.get(call ?? "");
      if (call === undefined || answer === undefined) continue;
      open.delete(call);
      counts.set(answer, (counts.get(answer) ?? 0) + 1);
    }
  return counts;
}
