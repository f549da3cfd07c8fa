import type { Message } from "@bonsai-agent/messages";
import {
  codeLine,
  logLine,
  madeName,
  madePath,
  progressLine,
  type Random,
  seededRandom,
} from "./made-text.ts";
import { foreignRules, incidents, irreversibles } from "./planted-commands.ts";
import { MessageScript } from "./planted-script.ts";
import { filled, isPlain, type Marked, marked, Slots, type SlotValues } from "./planted-slots.ts";
import { arabic } from "./planted-wordings/arabic.ts";
import { chinese } from "./planted-wordings/chinese.ts";
import { english } from "./planted-wordings/english.ts";
import { french } from "./planted-wordings/french.ts";
import { german } from "./planted-wordings/german.ts";
import { japanese } from "./planted-wordings/japanese.ts";
import { russian } from "./planted-wordings/russian.ts";
import type { Wordings } from "./planted-wordings/wordings.ts";

export type PlantedLanguage = keyof typeof languages;

export type PlantKind =
  | "constraint"
  | "preference"
  | "decision"
  | "fact"
  | "openError"
  | "todo"
  | "irreversible";

/** Something that whoever takes over must know; once it has ended, something that must not be shown as current. */
export interface Plant {
  kind: PlantKind;
  weight: number;
  /** The words that must be seen, as they were said. */
  key: string;
  /** Index of the message that says it. */
  at: number;
  ended?: {
    how: "withdrawn" | "changed" | "fixed" | "finished";
    /** Index of the message that ends it. */
    at: number;
    /** Any of these, shown after the key, says that it has ended. */
    mends: string[];
  };
}

export interface PlantedSession {
  messages: Message[];
  /** How many messages the session has at the end of each stretch of work. */
  stretches: number[];
  plants: Plant[];
}

export interface PlantedSessionOptions {
  seed: number;
  language: PlantedLanguage;
  /** Stretches of work, of about 30,000 tokens each, the first of twice as many. Default 8. */
  stretches?: number;
}

const languages = {
  en: english,
  de: german,
  fr: french,
  ru: russian,
  zh: chinese,
  ja: japanese,
  ar: arabic,
};
export const plantedLanguages = Object.keys(languages) as PlantedLanguage[];

const WEIGHTS: Record<PlantKind, number> = {
  constraint: 3,
  openError: 3,
  preference: 2,
  decision: 2,
  fact: 2,
  todo: 2,
  irreversible: 2,
};
const TURNS = 14;
const FILES = 30;

/** What one turn says and does beside its routine; `said` gets the index of the message that says it. */
interface Turn {
  asides: Array<{ text: string; said(at: number): void }>;
  commands: Array<() => void>;
  closings: Array<{ text: string; said(at: number): void }>;
}

type TextKind = {
  [Key in keyof Wordings]: Wordings[Key] extends readonly string[] ? Key : never;
}[keyof Wordings];

/**
 * A long working day with things in it that must not be lost: said in passing by the user, in the agent's closing
 * words, or by a command's last run, among fillers, questions, pastes, routine requests, files and logs that do not
 * matter. Some of them end later: a constraint is withdrawn, a value changed, an error mended, a to-do ticked.
 */
export function plantedSession(options: PlantedSessionOptions): PlantedSession {
  return new Planter(options).run();
}

class Planter {
  readonly #random: Random;
  readonly #slots: Slots;
  readonly #words: Wordings;
  readonly #script: MessageScript;
  readonly #stretchCount: number;
  readonly #plants: Plant[] = [];
  /** The files that the work is about. */
  readonly #files: readonly string[];
  readonly #decks = new Map<readonly unknown[], unknown[]>();
  /** What ends later, and in which turn of the session. */
  readonly #pending: Array<{ due: number; add(turn: Turn): void }> = [];
  #turns = 0;

  constructor({ seed, language, stretches = 8 }: PlantedSessionOptions) {
    this.#random = seededRandom(seed * 101 + plantedLanguages.indexOf(language));
    this.#slots = new Slots(this.#random);
    this.#script = new MessageScript();
    this.#files = Array.from({ length: FILES }, () => this.#slots.file());
    this.#words = languages[language];
    this.#stretchCount = stretches;
  }

  run(): PlantedSession {
    const stretches: number[] = [];
    for (let stretch = 0; stretch < this.#stretchCount; stretch++) {
      // As in a real day, the first stretch fills an empty window.
      const turns = stretch === 0 ? [...this.#agenda(), ...this.#agenda()] : this.#agenda();
      for (const turn of turns) this.#play(turn);
      stretches.push(this.#script.messages.length);
    }
    return { messages: this.#script.messages, stretches, plants: this.#plants };
  }

  /** The turns of one stretch, each with at most one thing that the user says in passing and one that the agent closes with. */
  #agenda(): Turn[] {
    const turns = Array.from({ length: TURNS }, (): Turn => ({ asides: [], commands: [], closings: [] }));
    const [said, closed, run] = [this.#shuffled(turns), this.#shuffled(turns), this.#shuffled(turns)];
    for (const kind of ["constraint", "constraint", "preference", "decision", "fact", "todo"] as const)
      this.#aside(said.pop()!, kind);
    this.#ending(said.pop()!, "withdrawn");
    this.#ending(said.pop()!, "changed");
    if (this.#random.chance(0.5)) this.#ending(said.pop()!, "finished");
    this.#closing(closed.pop()!, "decision", "agentDecision");
    this.#closing(closed.pop()!, "fact", "agentFact");
    if (this.#random.chance(0.5)) this.#stepList(closed.pop()!);
    this.#incident(run.pop()!, false);
    this.#incident(run.pop()!, true);
    if (this.#random.chance(0.6)) this.#irreversible(run.pop()!);
    return turns;
  }

  #aside(turn: Turn, kind: Extract<PlantKind, TextKind>): void {
    const { text, key } = marked(this.#draw(this.#words[kind]), this.#slots.draw());
    turn.asides.push({ text, said: (at) => this.#note(kind, key, at) });
  }

  #closing(turn: Turn, kind: PlantKind, from: TextKind): void {
    const { text, key } = marked(this.#draw(this.#words[from]), this.#slots.draw());
    turn.closings.push({ text, said: (at) => this.#note(kind, key, at) });
  }

  /** The user says it now; what ends it is said some turns later, by the user or, of a to-do, by the agent. */
  #ending(turn: Turn, how: "withdrawn" | "changed" | "finished"): void {
    const kind = { withdrawn: "constraint", changed: "decision", finished: "todo" } as const;
    const values = this.#slots.draw();
    const [first, later] = this.#draw(this.#words[how])
      .split("=>")
      .map((part) => marked(part, values)) as [Marked, Marked];
    const ends = {
      text: later.text,
      plant: undefined as Plant | undefined,
      said: (at: number): void => {
        this.#end(ends.plant!, { how, at, mends: [later.key] });
        if (how === "changed") this.#note("decision", later.key, at);
      },
    };
    turn.asides.push({
      text: first.text,
      said: (at) => {
        ends.plant = this.#note(kind[how], first.key, at);
        this.#later((due) => (how === "finished" ? due.closings : due.asides).push(ends));
      },
    });
  }

  #incident(turn: Turn, isMended: boolean): void {
    const values = this.#slots.draw();
    const incident = this.#draw(incidents);
    const [command, error, success] = [incident.command, incident.error, incident.success].map((text) =>
      filled(text, values),
    ) as [string, string, string];
    turn.commands.push(() => {
      const shown = this.#random.chance(0.2) ? `cd /home/dev/project && ${command} 2>&1 | tail -20` : command;
      const output = `${this.#lines(progressLine, 5)}\n${error}\n\nCommand exited with code ${incident.exitCode}`;
      const plant = this.#note(
        "openError",
        error,
        this.#script.call("bash", { command: shown }, output, true),
      );
      if (!isMended) return;
      const closing = marked(this.#draw(this.#words.mended), { command });
      this.#later((due) => {
        due.commands.push(() => {
          const at = this.#script.call("bash", { command }, `${this.#lines(progressLine, 5)}\n${success}`);
          this.#end(plant, { how: "fixed", at, mends: [success, closing.key] });
        });
        if (this.#random.chance(0.6)) due.closings.push({ text: closing.text, said: () => {} });
      });
    });
  }

  #irreversible(turn: Turn): void {
    const values = this.#slots.draw();
    const { command, output } = this.#draw(irreversibles);
    turn.commands.push(() => {
      const said = filled(command, values);
      this.#note("irreversible", said, this.#script.call("bash", { command: said }, filled(output, values)));
    });
  }

  /** Four steps, in the agent's words or by a tool; later the first two are ticked. */
  #stepList(turn: Turn): void {
    const steps = this.#words.steps.map((step) => filled(step, this.#slots.draw()));
    const byTool = this.#random.chance(0.5);
    const list = (done: number): string =>
      steps.map((step, at) => `- [${at < done ? "x" : " "}] ${step}`).join("\n");
    const write = (done: number): number =>
      this.#script.call("todo_write", { todos: steps.map((step, at) => todo(step, at < done)) }, "ok");
    const say = (into: Turn, done: number, then: (at: number) => void): void => {
      if (byTool) into.commands.push(() => then(write(done)));
      else into.closings.push({ text: `\n${list(done)}`, said: then });
    };
    say(turn, 0, (at) => {
      const plants = steps.map((step) => this.#note("todo", step, at));
      this.#later((due) =>
        say(due, 2, (doneAt) => {
          for (const plant of plants.slice(0, 2))
            this.#end(plant, { how: "finished", at: doneAt, mends: ticked(plant.key) });
        }),
      );
    });
  }

  #play(turn: Turn): void {
    const next = this.#pending.findIndex(({ due }) => due <= this.#turns);
    if (next !== -1) this.#pending.splice(next, 1)[0]!.add(turn);
    this.#turns++;
    const values = { ...this.#slots.draw(), file: this.#random.pick(this.#files) };
    if (this.#random.chance(0.1)) this.#script.command("git log --oneline", this.#lines(logLine, 6));
    const asked = this.#script.user(this.#prompt(turn, values));
    for (const aside of turn.asides) aside.said(asked);
    this.#work(values);
    for (const command of turn.commands) command();
    const closing = filled(this.#draw(this.#words.closings), values);
    const closed = this.#script.answer([closing, ...turn.closings.map(({ text }) => text)].join(" ").trim());
    for (const one of turn.closings) one.said(closed);
  }

  #prompt(turn: Turn, values: SlotValues): string {
    const asides = turn.asides.map(({ text }) => this.#random.pick(this.#words.asides) + text);
    if (asides.length === 0 && this.#random.chance(0.35)) return this.#draw(this.#words.fillers);
    if (asides.length > 0 && this.#random.chance(0.2)) return asides.join("\n");
    return this.#request(asides, values);
  }

  /** A request or a question, what is said in passing before or behind it, and sometimes a paste. */
  #request(asides: readonly string[], values: SlotValues): string {
    const isQuestion = this.#random.chance(0.2);
    const request = filled(this.#draw(isQuestion ? this.#words.questions : this.#words.requests), values);
    const glue = this.#random.chance(0.5) ? "\n" : this.#words.stop;
    const said = this.#random.chance(0.5) ? [...asides, request] : [request, ...asides];
    const text = said.join(glue).replace(/([?？؟])\. /g, "$1 ");
    if (!this.#random.chance(0.2)) return text;
    const paste = this.#paste();
    return this.#random.chance(0.7) ? `${text}\n\n${paste}` : `${paste}\n\n${text}`;
  }

  #paste(): string {
    const count = 8 + this.#random.int(30);
    const json = (): string => JSON.stringify({ id: this.#random.int(9_999), name: madeName(this.#random) });
    return this.#random.pick([
      () => `\`\`\`\n${this.#lines(logLine, count)}\n\`\`\``,
      () => this.#lines(logLine, count),
      () => `\`\`\`ts\n${this.#lines(codeLine, count)}\n\`\`\``,
      () => `[\n${Array.from({ length: count }, () => `  ${json()}`).join(",\n")}\n]`,
    ])();
  }

  #work(values: SlotValues): void {
    const { file } = values;
    const chatter = (): string =>
      this.#random.chance(0.5) ? filled(this.#draw(this.#words.chatter), values) : "";
    const rule = this.#random.chance(0.2) ? `${this.#random.pick(foreignRules)}\n` : "";
    this.#script.call(
      "read",
      { path: file },
      rule + this.#lines(codeLine, 55 + this.#random.int(55)),
      false,
      chatter(),
    );
    if (this.#random.chance(0.5))
      this.#script.call(
        "bash",
        { command: `rg -n ${values.name} ${madePath(this.#random)}` },
        this.#lines(logLine, 8 + this.#random.int(30)),
      );
    const edit = { path: file, oldText: codeLine(this.#random), newText: codeLine(this.#random) };
    this.#script.call("edit", edit, `Successfully replaced 1 block in ${file}.`, false, chatter());
    // Of the turn's own file: a run of all tests would pass judgement on what failed elsewhere.
    this.#script.call(
      "bash",
      { command: `npx vitest run ${file}` },
      `${this.#lines(progressLine, 8)}\n Tests  41 passed (41)`,
    );
  }

  #note(kind: PlantKind, key: string, at: number): Plant {
    const plant: Plant = { kind, weight: WEIGHTS[kind], key, at };
    this.#plants.push(plant);
    return plant;
  }

  #end(plant: Plant, ended: NonNullable<Plant["ended"]>): void {
    plant.ended = ended;
  }

  /** In one to three dozen turns, and so mostly behind a compaction. */
  #later(add: (turn: Turn) => void): void {
    this.#pending.push({ due: this.#turns + 6 + this.#random.int(24), add });
  }

  /** One of them, and none again before all had their turn; said again, a key without a slot would be the same plant. */
  #draw<T>(all: readonly T[]): T {
    const deck = this.#decks.get(all) ?? this.#shuffled(all);
    if (deck.length === 0) deck.push(...this.#shuffled(all.filter((one) => !isPlain(one))));
    this.#decks.set(all, deck);
    return deck.pop() as T;
  }

  #shuffled<T>(all: readonly T[]): T[] {
    const left = [...all];
    return all.map(() => left.splice(this.#random.int(left.length), 1)[0]!);
  }

  #lines(line: (random: Random) => string, count: number): string {
    return Array.from({ length: count }, () => line(this.#random)).join("\n");
  }
}

function todo(content: string, isDone: boolean): { content: string; status: string } {
  return { content, status: isDone ? "completed" : "pending" };
}

/** As a list says that the step is done, in the common notations. */
function ticked(step: string): string[] {
  const call = JSON.stringify(todo(step, true)).slice(1, -1);
  return [call, ...["[x]", "✓", "✔", "☑", "✅"].map((tick) => `${tick} ${step}`)];
}
