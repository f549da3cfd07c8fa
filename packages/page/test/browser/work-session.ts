import { createSession, type Session } from "@bonsai-agent/session";

/** A red pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

export interface WorkSession {
  session: Session;
  /** Entry ids by name: `turn 3`, `answer 3`, `result 3`, `compaction`, `other branch`. */
  id: (name: string) => string;
}

const TURNS = 40;
const CONTEXT_TOKENS = 4_000;

/** A day's work: calls with results, code and images, a mask, a compaction with its undo, two branches, labels. */
export function workSession(): WorkSession {
  const builder = new WorkBuilder();
  for (let turn = 1; turn <= TURNS; turn += 1) builder.turn(turn);
  builder.branch();
  return { session: builder.session, id: builder.id };
}

class WorkBuilder {
  readonly session = createSession({ cwd: "/project" });
  readonly #ids = new Map<string, string>();
  #clockMs = Date.UTC(2026, 0, 5, 9);
  #contextTokens = CONTEXT_TOKENS;

  readonly id = (name: string): string => {
    const id = this.#ids.get(name);
    if (id === undefined) throw new Error(`No entry is called ${name}.`);
    return id;
  };

  turn(turn: number): void {
    const { session } = this;
    this.#message(`turn ${turn}`, {
      role: "user",
      content: `Question ${turn}: what does **part ${turn}** do?`,
    });
    this.#answer(turn);
    this.#message(`result ${turn}`, {
      role: "toolResult",
      toolCallId: `call-${turn}`,
      toolName: "read",
      isError: turn === 7,
      content: [{ type: "text", text: outputOf(turn) }],
    });
    if (turn === 3)
      session.append({ type: "label", targetId: this.id("turn 3"), label: "before the parser" });
    if (turn === 5)
      session.append({
        type: "context_edit",
        targetId: this.id("result 2"),
        replacement: { content: "[Old tool result content cleared]" },
      });
    if (turn === 20) this.#compact();
  }

  branch(): void {
    this.session.moveTo(this.id("result 30"));
    this.#message("other branch", { role: "user", content: "Another way: try a cache." });
    this.#answer(41);
    this.session.moveTo(this.id(`result ${TURNS}`));
  }

  #answer(turn: number): void {
    this.#contextTokens += 1_500;
    const cacheRead = this.#contextTokens - 500;
    const usage = {
      ...{ input: 100, output: 200, cacheRead, cacheWrite: 400, totalTokens: cacheRead + 700 },
      cost: { input: 0.001, output: 0.003, cacheRead: 0.002, cacheWrite: 0.001, total: 0.007 },
    };
    this.#message(`answer ${turn}`, {
      role: "assistant",
      ...{ api: "messages", provider: "made", model: "actor-64k", usage, stopReason: "toolUse" },
      content: [
        { type: "thinking", thinking: `I wonder about part ${turn}, a hidden thought.` },
        { type: "text", text: `Part ${turn}:\n\n\`\`\`ts\nexport const part = ${turn};\n\`\`\`` },
        {
          type: "toolCall",
          id: `call-${turn}`,
          ...(turn % 2 === 0
            ? { name: "edit", arguments: { path: "src/a.ts", oldText: "let a = 1;", newText: "let a = 2;" } }
            : { name: "read", arguments: { path: `src/part-${turn}.ts` } }),
        },
      ],
    });
  }

  #compact(): void {
    this.#contextTokens = CONTEXT_TOKENS;
    const entry = this.session.append({
      type: "compaction",
      summary: "## Goal\n\n- Understand every part.\n- Part 3 was labelled before the parser.",
      firstKeptEntryId: this.id("turn 18"),
      tokensBefore: 34_000,
    });
    this.#ids.set("compaction", entry.id);
  }

  #message(name: string, message: Record<string, unknown>): void {
    this.#clockMs += 30_000;
    const stored = { ...message, timestamp: this.#clockMs };
    const entry = this.session.append({ type: "message", message: stored as never });
    this.#ids.set(name, entry.id);
    if (name === "turn 9")
      this.#message("picture", {
        role: "user",
        content: [
          { type: "text", text: "See:" },
          { type: "image", mimeType: "image/png", data: PNG },
        ],
      });
  }
}

/** The output of a turn. The page cuts the output of turn 12. */
function outputOf(turn: number): string {
  const lines = turn === 12 ? 900 : turn % 3 === 0 ? 1 : 20;
  return Array.from({ length: lines }, (_, line) => `line ${line + 1} of part ${turn}`)
    .join("\n")
    .concat(turn === 12 ? "\nburied treasure" : "");
}
