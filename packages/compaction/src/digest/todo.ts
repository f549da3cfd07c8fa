import { fold } from "./fold.ts";
import { languageOf } from "./language.ts";
import type { Statement } from "./statement.ts";
import { subjectOf } from "./subject.ts";
import { type ToolUse, todoArguments } from "./tool-use.ts";
import type { SaidLine, Transcript } from "./transcript.ts";
import { valuesOf } from "./values.ts";

/** A piece of work that lies ahead, or did. */
export interface Todo {
  text: string;
  state: "open" | "active" | "done";
  source: "tool" | "list" | "said" | "earlier";
  /** Written with a box: it came from a to-do tool, whose next list takes the place of the last. */
  boxed: boolean;
  order: number;
  turn: number;
  weight: number;
  subject: ReadonlySet<string>;
  values: ReadonlySet<string>;
}

const PLAN_LINE =
  /\b(?:plan|todo|to-do|to do|next steps?|next up|remaining|remains|still open|left to do|tasks|steps|checklist|roadmap|backlog|follow-?ups?|plane?|nächste schritte|noch offen|offen|aufgaben|étapes|prochaines|reste|à faire|tâches|pasos|pendientes|tareas|falta|passos|tarefas|passi|da fare|attività)\b|план|шаги|задачи|осталось|дальше|计划|待办|下一步|步骤|任务|剩下|計画|次の|手順|残り|タスク|やること|계획|다음|할 일|단계|남은/iu;

/** The to-dos of a span, oldest first: from to-do tools, check lists, plans and passing remarks; what got done is marked. */
export function todosOf(input: {
  transcript: Transcript;
  uses: readonly ToolUse[];
  statements: readonly Statement[];
  earlier: readonly string[];
}): Todo[] {
  const list = new TodoList();
  for (const text of input.earlier) list.recall(text);
  const events = [
    ...input.uses
      .filter((use) => use.kind === "todo")
      .map((use) => ({ order: use.call.order, run: () => list.fromTool(use) })),
    ...listedLines(input.transcript.said).map((entry) => ({
      order: entry.line.order,
      run: () => list.fromLine(entry),
    })),
    ...input.statements.map((statement) => ({
      order: statement.order,
      run: () => list.fromStatement(statement),
    })),
  ].sort((a, b) => a.order - b.order);
  for (const event of events) event.run();
  return list.items;
}

interface ListedLine {
  line: SaidLine;
  /** Stands under a line that announces a plan. */
  planned: boolean;
}

/** The list lines that can be to-dos: with a box, or under an announced plan. */
function listedLines(said: readonly SaidLine[]): ListedLine[] {
  const found: ListedLine[] = [];
  let announced = false;
  let order = -1;
  for (const line of said) {
    if (line.order !== order) announced = false;
    order = line.order;
    if (line.checkbox !== undefined) found.push({ line, planned: true });
    else if (line.bullet && announced) found.push({ line, planned: true });
    else if (!line.bullet)
      announced = (line.heading || /[:：]$/.test(line.text)) && PLAN_LINE.test(line.text) && !line.pasted;
  }
  return found;
}

/** "The invoices are backfilled now": done, whatever the verb. */
const IS_NOW =
  /\b(?:is|are|has been|have been|got) (?:\p{L}+ly )?\p{L}+(?:ed|en|pt|nt|lt|wn) (?:now|already|too|as well)\b|\b(?:is|are) (?:in|up|ready|live|there|finished) now\b/u;

class TodoList {
  items: Todo[] = [];

  recall(text: string): void {
    const done = /^\[[xX✓]\]\s*/.test(text);
    const bare = text.replace(/^\[[ xX✓]\]\s*/, "");
    const boxed = bare !== text && !done;
    const active = bare.replace(/ \(in progress\)$/, "");
    this.items.push({
      ...this.make(active, done ? "done" : "open", "earlier", { order: -1, turn: 0 }, 7.5),
      boxed,
    });
  }

  /** A to-do tool writes its whole list each time. */
  fromTool(use: ToolUse): void {
    const written = todoArguments(use.call.args) ?? [];
    this.items = this.items.filter((item) => !item.boxed);
    for (const { text, status } of written) {
      const state = /^(?:completed?|done|finished|cancell?ed|closed)$/i.test(status)
        ? "done"
        : /progress|active|doing|current/i.test(status)
          ? "active"
          : "open";
      const todo = this.make(text, state, "tool", use.call, state === "active" ? 9.5 : 9);
      this.items = this.items.filter((item) => !same(item, todo));
      this.items.push(todo);
    }
  }

  fromLine({ line }: ListedLine): void {
    const todo = this.make(
      line.text,
      line.checkbox === "done" ? "done" : "open",
      "list",
      line,
      line.speaker === "user" ? 9 : 7,
    );
    const known = this.items.find((item) => same(item, todo));
    if (known !== undefined) {
      known.state = todo.state === "done" ? "done" : known.state;
      return;
    }
    if (todo.subject.size + todo.values.size > 0) this.items.push(todo);
  }

  fromStatement(statement: Statement): void {
    if (statement.kind === "todo" && statement.speaker === "user") {
      const todo = this.make(statement.text, "open", "said", statement, statement.weight);
      if (!this.items.some((item) => same(item, todo))) this.items.push(todo);
    } else if (
      (statement.cues.has("did") || statement.cues.has("fixed") || IS_NOW.test(statement.folded)) &&
      !statement.cues.has("todo") &&
      statement.kind !== "question"
    )
      this.markDone(statement);
  }

  private markDone(statement: Statement): void {
    const values = new Set(statement.values.map((value) => value.key));
    for (const item of this.items) {
      if (item.state === "done" || item.order >= statement.order) continue;
      const shared = [...item.subject].filter((word) => statement.subject.has(word)).length;
      const sharedValues = [...item.values].filter((key) => values.has(key)).length;
      const all = item.subject.size + item.values.size;
      // What names a thing is done only by word of that thing.
      if (item.values.size > 0 && sharedValues === 0) continue;
      if (shared + sharedValues >= 2 && (shared + sharedValues) / Math.max(1, all) >= 0.5)
        item.state = "done";
    }
  }

  private make(
    text: string,
    state: Todo["state"],
    source: Todo["source"],
    at: { order: number; turn: number },
    weight: number,
  ): Todo {
    const language = languageOf(text, "en");
    const values = valuesOf(text, language);
    return {
      text,
      state,
      source,
      boxed: source === "tool",
      order: at.order,
      turn: at.turn,
      weight,
      subject: subjectOf(fold(text), language, values),
      values: new Set(values.map((value) => value.key)),
    };
  }
}

function same(a: Todo, b: Todo): boolean {
  if (fold(a.text) === fold(b.text)) return true;
  // "Migrate ledger_1" and "migrate ledger_2" are two.
  if (a.values.size > 0 && b.values.size > 0 && ![...a.values].some((key) => b.values.has(key))) return false;
  const shared =
    [...a.subject].filter((word) => b.subject.has(word)).length +
    [...a.values].filter((key) => b.values.has(key)).length;
  const most = Math.max(a.subject.size + a.values.size, b.subject.size + b.values.size);
  return shared >= 2 && shared / most >= 0.75;
}
