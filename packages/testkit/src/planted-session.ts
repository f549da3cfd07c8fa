import { emptyUsage, type Message } from "@bonsai-agent/messages";
import { codeLine, logLine, madeName, type Random, seededRandom } from "./made-text.ts";
import { filled, findings, foreignRules, incidents, Slots } from "./planted-slots.ts";
import { english, french, german, type PlantKind, spanish, type Wordings } from "./planted-wordings.ts";
import { chinese, japanese, russian } from "./planted-wordings-east.ts";

export type PlantedLanguage = keyof typeof languages;

/** Something that whoever takes over must know. */
export interface Plant {
  kind: PlantKind | "finding" | "openError" | "path";
  weight: number;
  /** The words that must be seen, as they were said. */
  keep: string;
  /** Index of the message that says it. */
  at: number;
}

/** Something that must not be shown any more from message `from` on. */
export interface Trap {
  kind: "superseded" | "mended" | "finished";
  /** Must not stand on a line of the summary … */
  text: string;
  /** … unless this stands there too. */
  unless?: string;
  from: number;
}

export interface PlantedSession {
  messages: Message[];
  /** How many messages the session has at the end of each stretch of work. */
  stretches: number[];
  plants: Plant[];
  traps: Trap[];
}

export interface PlantedSessionOptions {
  seed: number;
  language: PlantedLanguage;
  /** Plant with the wordings that the digest's cues were not tuned on. Default false. */
  heldOut?: boolean;
  /** Stretches of work, each a dozen turns. Default 8. */
  stretches?: number;
  /** How many things each stretch after the first adds, at most 12. Default 4. */
  additions?: number;
}

const languages = {
  en: english,
  de: german,
  fr: french,
  es: spanish,
  ru: russian,
  zh: chinese,
  ja: japanese,
};
export const plantedLanguages = Object.keys(languages) as PlantedLanguage[];

const WEIGHTS: Record<Plant["kind"], number> = {
  constraint: 3,
  preference: 2,
  decision: 2,
  change: 3,
  fact: 2,
  todo: 2,
  finding: 1,
  openError: 3,
  path: 1,
};
const TURNS = 12;
const FILES = 30;
const KINDS: PlantKind[] = ["constraint", "preference", "decision", "change", "fact", "todo"];

/**
 * A long session with things in it that must not be lost, said in passing between requests, among look-alikes, files
 * and logs that do not matter. The first stretch holds one of each kind and more; every later one adds a few, changes
 * some, mends some.
 */
export function plantedSession(options: PlantedSessionOptions): PlantedSession {
  return new Planter(options).run();
}

class Planter {
  readonly #random: Random;
  readonly #slots: Slots;
  readonly #words: Wordings;
  readonly #plantWords: Wordings["plants"];
  readonly #script = new MessageScript();
  readonly #stretchCount: number;
  readonly #additions: number;
  readonly #session: PlantedSession;
  readonly #used = new Set<string>();
  /** The files that the work is about. */
  readonly #files: readonly string[];
  /** What a later turn has to say or run. */
  #pending: Array<() => void> = [];

  constructor(options: PlantedSessionOptions) {
    this.#random = seededRandom(options.seed);
    this.#slots = new Slots(this.#random);
    this.#files = Array.from({ length: FILES }, () => this.#slots.file());
    this.#words = languages[options.language].tuned;
    this.#plantWords = options.heldOut ? languages[options.language].heldOut : this.#words.plants;
    this.#stretchCount = options.stretches ?? 8;
    this.#additions = options.additions ?? 4;
    this.#session = { messages: this.#script.messages, stretches: [], plants: [], traps: [] };
  }

  run(): PlantedSession {
    for (let stretch = 0; stretch < this.#stretchCount; stretch++) {
      const plants = stretch === 0 ? [...KINDS, ...KINDS] : this.#some();
      for (let turn = 0; turn < TURNS; turn++) this.#turn(plants[turn], turn);
      if (stretch % 3 === 0) this.#todoTool();
      this.#session.stretches.push(this.#script.messages.length);
    }
    return this.#session;
  }

  #some(): PlantKind[] {
    return Array.from({ length: this.#additions }, () => this.#random.pick(KINDS));
  }

  #turn(kind: PlantKind | undefined, number: number): void {
    const file = this.#random.pick(this.#files);
    const pending = this.#random.chance(0.6) ? this.#pending.shift() : undefined;
    if (kind !== undefined) this.#plant(kind, file);
    else if (pending !== undefined) pending();
    else this.#request(file);
    this.#work(file);
    if (number % 5 === 2) this.#incident();
    if (number % 6 === 4) this.#finding();
    this.#script.answer(filled(this.#random.pick(this.#words.answers), { file }));
  }

  #request(file: string): void {
    const lookAlike = this.#random.chance(0.4) ? `${this.#random.pick(this.#words.lookAlikes)}\n` : "";
    this.#script.user(lookAlike + filled(this.#random.pick(this.#words.requests), { file }));
  }

  /** A wording comes again only where it names what it is about: else the second would replace the first. */
  #wording(kind: PlantKind): string | undefined {
    const free = this.#plantWords[kind].filter(
      (wording) => !this.#used.has(wording) || /«[^»]*\{(?:mod|table|file)\}/.test(wording),
    );
    const wording = free.length === 0 ? undefined : this.#random.pick(free);
    if (wording !== undefined) this.#used.add(wording);
    return wording;
  }

  #plant(kind: PlantKind, file: string): void {
    const wording = this.#wording(kind);
    if (wording === undefined) {
      this.#request(file);
      return;
    }
    const values = this.#slots.draw();
    const [first, later] = wording.split("=>");
    this.#sayInPassing(first!, values, file);
    if (later === undefined) {
      this.#note(kind, coreOf(first!, values));
      return;
    }
    const old = coreOf(first!, values);
    this.#pending.push(() => {
      this.#sayInPassing(later, values, this.#random.pick(this.#files));
      this.#note(kind, coreOf(later, values));
      this.#trap("superseded", oldValue(old, later, values), coreOf(later, values));
    });
  }

  /** Between a request and its look-alikes, on one line or on lines of their own. */
  #sayInPassing(template: string, values: Record<string, string>, file: string): void {
    const said = filled(template, values).replace(/[«»]/g, "");
    const request = filled(this.#random.pick(this.#words.requests), { file });
    const glue = this.#random.chance(0.5) ? "\n" : /[\u3000-\uffef]/.test(said) ? "。" : ". ";
    this.#script.user(this.#random.chance(0.5) ? `${request}${glue}${said}` : `${said}${glue}${request}`);
  }

  #note(kind: Plant["kind"], keep: string): void {
    this.#session.plants.push({ kind, weight: WEIGHTS[kind], keep, at: this.#script.messages.length - 1 });
  }

  #trap(kind: Trap["kind"], text: string, unless?: string): void {
    const from = this.#script.messages.length - 1;
    this.#session.traps.push({ kind, text, from, ...(unless !== undefined && { unless }) });
  }

  #work(file: string): void {
    this.#script.call("read", { path: file }, this.#lines(codeLine, 25));
    if (this.#random.chance(0.3))
      this.#script.call(
        "read",
        { path: "CONTRIBUTING.md" },
        `# Contributing\n${this.#random.pick(foreignRules)}\n${this.#lines(logLine, 4)}`,
      );
    this.#script.call("bash", { command: `rg -n export ${file}` }, this.#lines(logLine, 8));
    this.#script.call(
      "edit",
      { path: file, oldText: "a", newText: "b" },
      `Successfully replaced 1 block in ${file}.`,
    );
    const known = this.#session.plants.some((plant) => plant.kind === "path" && plant.keep === file);
    if (!known) this.#note("path", file);
    this.#script.call(
      "bash",
      { command: "npm test" },
      `${this.#lines(progressLine, 6)}\n Tests  41 passed (41)`,
    );
  }

  #incident(): void {
    const values = this.#slots.draw();
    const incident = this.#random.pick(incidents);
    const [command, error, success] = [incident.command, incident.error, incident.success].map((text) =>
      filled(text, values),
    );
    const output = `${this.#lines(progressLine, 5)}\n${error}\n\nCommand exited with code ${incident.exitCode}`;
    this.#script.call("bash", { command: `${command} 2>&1 | tail -20` }, output, true);
    if (this.#random.chance(0.5)) {
      this.#note("openError", error!);
      return;
    }
    this.#pending.push(() => {
      this.#request(this.#random.pick(this.#files));
      this.#script.call("bash", { command: command! }, `${this.#lines(progressLine, 5)}\n${success}`);
      this.#trap("mended", error!);
    });
  }

  #finding(): void {
    const values = this.#slots.draw();
    const template = this.#random.pick(findings);
    this.#script.answer(filled(template, values).replace(/[«»]/g, ""));
    this.#note("finding", coreOf(template, values));
  }

  /** Writes a list, works, and writes it again with some of it done. */
  #todoTool(): void {
    const items = Array.from(
      { length: 4 },
      () => `Move ${this.#slots.className()} out of ${this.#slots.file()}`,
    );
    const list = (done: number) => ({
      todos: items.map((content, at) => ({ content, status: at < done ? "completed" : "pending" })),
    });
    this.#script.call("todo_write", list(0), "ok");
    this.#work(this.#random.pick(this.#files));
    this.#script.call("todo_write", list(2), "ok");
    for (const item of this.#session.plants.filter((plant) => plant.keep.startsWith("Move ")))
      this.#trap("finished", item.keep);
    this.#session.plants = this.#session.plants.filter((plant) => !plant.keep.startsWith("Move "));
    for (const item of items.slice(0, 2)) this.#trap("finished", item);
    for (const item of items.slice(2)) this.#note("todo", item);
  }

  #lines(line: (random: Random) => string, count: number): string {
    return Array.from({ length: count }, () => line(this.#random)).join("\n");
  }
}

/** A line of output that goes well. */
function progressLine(random: Random): string {
  return random.chance(0.5)
    ? ` ✓ test/${madeName(random)}.test.ts (${random.int(900)} ms)`
    : `[${random.int(99)}/99] ${madeName(random)}`;
}

/** The marked words of a template, filled. */
function coreOf(template: string, values: Record<string, string>): string {
  return filled(/«(.+)»/s.exec(template)?.[1] ?? template, values);
}

/** The value that the first part of a change says and the marked words of the later do not. */
function oldValue(firstCore: string, later: string, values: Record<string, string>): string {
  const laterSlots = new Set([...later.matchAll(/\{(\w+)2\}/g)].map((match) => match[1]!));
  const slot = [...laterSlots].find((name) => firstCore.includes(values[name]!));
  return slot === undefined ? firstCore : values[slot]!;
}

/** Writes messages one after the other. */
class MessageScript {
  readonly messages: Message[] = [];
  #calls = 0;

  user(text: string): void {
    this.messages.push({ role: "user", content: [{ type: "text", text }], timestamp: this.#now() });
  }

  answer(text: string): void {
    this.messages.push(this.#assistant([{ type: "text", text }], "stop"));
  }

  call(name: string, args: Record<string, unknown>, output: string, isError = false): void {
    const id = `call_${++this.#calls}`;
    this.messages.push(this.#assistant([{ type: "toolCall", id, name, arguments: args }], "toolUse"));
    this.messages.push({
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: [{ type: "text", text: output }],
      isError,
      timestamp: this.#now(),
    });
  }

  #assistant(
    content: Extract<Message, { role: "assistant" }>["content"],
    stopReason: "stop" | "toolUse",
  ): Message {
    const origin = { api: "scripted", provider: "scripted", model: "scripted" };
    return { role: "assistant", content, ...origin, usage: emptyUsage(), stopReason, timestamp: this.#now() };
  }

  #now(): number {
    return Date.UTC(2026, 0, 5) + this.messages.length * 1_000;
  }
}
