import { isRecord } from "@bonsai-agent/messages";
import { isNote, MESSAGE_TYPES } from "@bonsai-agent/messages/host";
import type { Session } from "@bonsai-agent/session";
import type { CustomInput } from "../events.ts";
import { budgetLine, budgetStep, type ContextBudget } from "../prompt/budget-line.ts";
import type { InstructionFiles } from "../prompt/instruction-files.ts";
import type { SystemPromptInUse } from "../prompt/system-prompt.ts";

interface PromptNotesOptions {
  session: Session;
  systemPrompt: SystemPromptInUse;
  instructions?: Pick<InstructionFiles, "renew" | "adopt" | "note"> | undefined;
  /** Undefined if the settings turn budget lines off. */
  budget: () => ContextBudget | undefined;
  /** True if the model can ask for a compaction. */
  canAsk: () => boolean;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/**
 * Notes that follow the messages while the text before them stays the same.
 *
 * Invariant: between two compactions, the system prompt keeps its bytes, unless an extension changes it.
 */
export class PromptNotes {
  readonly #options: PromptNotesOptions;
  /** Compactions of this process that a request has contained: an undo or a move in the tree can bring them back. */
  readonly #seen = new Set<string>();
  readonly #openedMs: number;

  constructor(options: PromptNotesOptions) {
    this.#options = options;
    this.#openedMs = options.now();
  }

  /** Called before each run and each request. After a compaction, the system prompt contains the changes. */
  async renew(): Promise<void> {
    const { session, systemPrompt, instructions } = this.#options;
    await instructions?.renew();
    const { compaction, items } = session.projection();
    if (compaction === undefined || this.#seen.has(compaction.id)) return;
    if (Date.parse(compaction.timestamp) < this.#openedMs) return;
    this.#seen.add(compaction.id);
    systemPrompt.apply(instructions?.adopt());
    for (const { entryId, message } of items)
      if (message.role === "custom" && isNote(message))
        session.append({ type: "context_edit", targetId: entryId, replacement: null });
  }

  /** The notes that the next request needs, from the messages in the model's view. */
  pending(): CustomInput[] {
    return [...this.#instructionNote(), ...this.#budgetLine()];
  }

  #instructionNote(): CustomInput[] {
    const { session, instructions } = this.#options;
    const earlier = session.projection().items.map(({ message }) => {
      const isInstruction = message.role === "custom" && message.customType === MESSAGE_TYPES.instructions;
      return isInstruction && isRecord(message.details) ? message.details.known : undefined;
    });
    const note = instructions?.note(Object.assign({}, ...earlier.filter(isRecord)));
    if (note === undefined) return [];
    const { text: content, known } = note;
    return [{ customType: MESSAGE_TYPES.instructions, content, display: false, details: { known } }];
  }

  /** The line of the highest reached step, unless the model's view has it. */
  #budgetLine(): CustomInput[] {
    const { session, budget: read, canAsk } = this.#options;
    const budget = read();
    const step = budget === undefined ? 0 : budgetStep(budget);
    if (budget === undefined || step === 0) return [];
    const hasLine = session.projection().items.some(({ message }) => {
      if (message.role !== "custom" || message.customType !== MESSAGE_TYPES.budget) return false;
      return isRecord(message.details) && Number(message.details.percent) >= step;
    });
    if (hasLine) return [];
    const content = budgetLine(budget, canAsk());
    return [{ customType: MESSAGE_TYPES.budget, content, display: false, details: { percent: step } }];
  }
}
