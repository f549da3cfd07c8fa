import { callsIn, contentText } from "@bonsai-agent/messages";
import { userContent } from "@bonsai-agent/messages/host";
import {
  createSession,
  customTypes,
  type Entry,
  type EntryDraftWithId,
  type ProjectionItem,
  type Session,
} from "@bonsai-agent/session";
import {
  assistantMessage,
  contentOf,
  type HistoryToken,
  parseHistory,
  textOf,
  toolResultMessage,
} from "./history-message.ts";

/** A session written as text, and the names of its entries. */
export interface History {
  session: Session;
  /** The entry id of a name such as `u1`, `a2`, `t1` (results), `c1`; throws on an unknown name. */
  id: (name: string) => string;
  /** The name of an entry id; the id itself where it has none. */
  name: (id: string) => string;
}

/** The text that replaces a masked tool result. */
const MASK_TEXT = "[Old tool result content cleared]";

/**
 * Builds a session from a text such as `U:100 A(t1 t2) T1 T2 A | U A`. `|` only separates. Entries get
 * the names u1, u2, …, a1, …; a tool result has its call's id in lower case (`t1`).
 *
 * - `U` user, `A` answer, `A(t1 t2=edit:a.ts)` with calls, `T1` result, `T1!` failed result
 * - `B` user's command, `B!` one kept out of the context, `X` extension message, `S` branch summary, `S!` merged branch
 * - `P"text"` pins a text, `Q"text"` takes the pin back
 * - `C(u2)` compaction that keeps from u2, `C()` one that keeps nothing, `C(u2)!` one made anew of the live one
 * - `E(u1)` omits, `E(u1)"text"` replaces, `M(t1)` masks, `Z(c1)` undoes a compaction, `Y(c1)` redoes it
 * - `m k l i p` metadata: model, thinking level, label, name, extension state (`p"type"`: of that `customType`)
 * - `^u1` moves the leaf to u1, `^0` before every entry
 * - after a word: `"text"`, `:100` tokens (four characters each), `@9000` usage, `~aborted` stop reason, `*2` images
 * - `%7` instead of a name picks the fitting entry with this number (none if none fits)
 */
export function history(notation: string, session: Session = createSession({ cwd: "/project" })): History {
  const builder = new HistoryBuilder(session);
  for (const token of parseHistory(notation)) builder.add(token);
  return builder;
}

class HistoryBuilder implements History {
  readonly session: Session;
  readonly #ids = new Map<string, string>();
  readonly #names = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  #clockMs = 1_700_000_000_000;

  constructor(session: Session) {
    this.session = session;
  }

  readonly id = (name: string): string => {
    const id = this.#ids.get(name);
    if (id === undefined) throw new Error(`No entry is called ${name}.`);
    return id;
  };

  readonly name = (id: string): string => this.#names.get(id) ?? id;

  add(token: HistoryToken): void {
    if (token.kind === "^") this.#move(token.suffix);
    else this.#append(token);
  }

  #append(token: HistoryToken): void {
    const name = this.#nameFor(token);
    const draft = this.#draft(token, name);
    if (draft === undefined) return;
    const entry = this.session.append(draft);
    this.#ids.set(name, entry.id);
    this.#names.set(entry.id, name);
  }

  #nameFor(token: HistoryToken): string {
    if (token.kind === "T") return (token.args?.[0] ?? `t${token.suffix}`).toLowerCase();
    const letter = token.kind.toLowerCase();
    const count = (this.#counts.get(letter) ?? 0) + 1;
    this.#counts.set(letter, count);
    return `${letter}${count}`;
  }

  #draft(token: HistoryToken, name: string): EntryDraftWithId | undefined {
    this.#clockMs += 1000;
    return (
      this.#messageDraft(token, name, this.#clockMs) ?? this.#changeDraft(token) ?? metadataDraft(token, this)
    );
  }

  #messageDraft(token: HistoryToken, name: string, timestamp: number): EntryDraftWithId | undefined {
    switch (token.kind) {
      case "U":
        return { type: "message", message: { role: "user", content: contentOf(token, name), timestamp } };
      case "A":
        return { type: "message", message: assistantMessage(token, name, timestamp) };
      case "T":
        return { type: "message", message: toolResultMessage(token, this.#call(name), name, timestamp) };
      case "B":
        return { type: "message", message: commandMessage(token, name, timestamp) };
      case "X":
        return { type: "custom_message", customType: "note", content: textOf(token, name), display: true };
      case "S":
        return {
          type: "branch_summary",
          summary: textOf(token, name),
          fromId: "root",
          ...(token.flagged && { isMerge: true }),
        };
      case "P":
      case "Q":
        return pinDraft(token, name);
      default:
        return undefined;
    }
  }

  #changeDraft(token: HistoryToken): EntryDraftWithId | undefined {
    const target = token.args?.[0];
    switch (token.kind) {
      case "C":
        return this.#compactionDraft(token, target);
      case "E":
      case "M":
        return this.#editDraft(token, target);
      case "Y":
      case "Z": {
        const compactionId = this.#pick(target, () => this.#compactionIds());
        if (compactionId === undefined) return undefined;
        const customType = token.kind === "Z" ? customTypes.undo : customTypes.redo;
        return { type: "custom", customType, data: { compactionId } };
      }
      default:
        return undefined;
    }
  }

  #compactionDraft(token: HistoryToken, target: string | undefined): EntryDraftWithId | undefined {
    const id = this.session.newId();
    const firstKeptEntryId = target === undefined ? id : this.#pick(target, () => turnStarts(this.#items()));
    if (firstKeptEntryId === undefined) return undefined;
    const summary = token.text ?? "A summary of what came before.";
    const replaced = token.flagged ? this.session.projection().compaction?.id : undefined;
    return {
      type: "compaction",
      id,
      summary,
      firstKeptEntryId,
      tokensBefore: token.usageTokens ?? 1000,
      ...(replaced !== undefined && { replacesCompactionId: replaced }),
    };
  }

  #editDraft(token: HistoryToken, target: string | undefined): EntryDraftWithId | undefined {
    const targetId = this.#pick(target, () => editable(this.#items(), token.kind === "M"));
    if (targetId === undefined) return undefined;
    const content = token.kind === "M" ? MASK_TEXT : token.text;
    return { type: "context_edit", targetId, replacement: content === undefined ? null : { content } };
  }

  #move(target: string): void {
    // The tree does not show these entries, so users never move to them.
    const unshown: readonly string[] = [customTypes.companion, customTypes.leaf];
    const isShown = (entry: Entry) => !(entry.type === "custom" && unshown.includes(entry.customType));
    const anywhere = () => this.session.entries().flatMap((entry) => (isShown(entry) ? [entry.id] : []));
    const id = target === "0" ? null : this.#pick(target, anywhere);
    if (id !== undefined) this.session.moveTo(id);
  }

  #pick(target: string | undefined, candidates: () => string[]): string | undefined {
    if (target === undefined) throw new Error("A word of the history needs a target in parentheses.");
    if (!target.startsWith("%")) return this.id(target);
    const ids = candidates();
    return ids[Number(target.slice(1)) % Math.max(1, ids.length)];
  }

  #call(id: string): { id: string; name: string } {
    const calls = this.session
      .path()
      .flatMap((entry) => (entry.type === "message" ? callsIn(entry.message) : []));
    return calls.findLast((call) => call.id.toLowerCase() === id) ?? { id, name: "read" };
  }

  #items(): readonly ProjectionItem[] {
    return this.session.projection().items.filter((item) => item.entry.type !== "compaction");
  }

  #compactionIds(): string[] {
    return this.session.path().flatMap((entry) => (entry.type === "compaction" ? [entry.id] : []));
  }
}

function turnStarts(items: readonly ProjectionItem[]): string[] {
  return items.filter((item) => item.message.role === "user").map((item) => item.entryId);
}

/** The entries that an edit may name: tool results for a mask, else entries without tool calls. */
function editable(items: readonly ProjectionItem[], forMask: boolean): string[] {
  const fits = (item: ProjectionItem) =>
    forMask
      ? item.message.role === "toolResult"
      : item.message.role === "user" || item.message.role === "custom";
  return items.filter(fits).map((item) => item.entryId);
}

function pinDraft(token: HistoryToken, name: string): EntryDraftWithId {
  const text = textOf(token, name);
  const customType = token.kind === "P" ? customTypes.pin : customTypes.unpin;
  const content = `${token.kind === "P" ? "Pinned" : "Unpinned"}: ${text}`;
  return { type: "custom_message", customType, content, display: true, details: { text, line: text } };
}

function commandMessage(token: HistoryToken, name: string, timestamp: number) {
  const run = {
    role: "bashExecution" as const,
    command: `run ${name}`,
    output: "x",
    exitCode: 0,
    cancelled: false,
    truncated: false,
    timestamp,
  };
  const beside = contentText(userContent(run)).length - run.output.length;
  return {
    ...run,
    output: textOf(token, name, beside),
    ...(token.flagged ? { excludeFromContext: true } : {}),
  };
}

function metadataDraft(token: HistoryToken, names: History): EntryDraftWithId | undefined {
  switch (token.kind) {
    case "m":
      return { type: "model_change", provider: "scripted", modelId: token.suffix || "scripted" };
    case "k":
      return { type: "thinking_level_change", thinkingLevel: "high" };
    case "i":
      return { type: "session_info", name: token.text ?? "A session" };
    case "p":
      return { type: "custom", customType: token.text ?? "extension-state", data: { step: 1 } };
    case "l":
      return labelDraft(token, names);
    default:
      if (!"CEMYZ".includes(token.kind)) throw new Error(`A history has no word ${token.kind}.`);
      return undefined;
  }
}

function labelDraft(token: HistoryToken, names: History): EntryDraftWithId {
  const target = token.args?.[0];
  const targetId = target === undefined ? (names as HistoryBuilder).session.leafId : names.id(target);
  return { type: "label", targetId: targetId ?? "root", label: token.text ?? "here" };
}
