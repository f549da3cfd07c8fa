import type { Agent, Tool } from "@bonsai-agent/agent";
import type { ExtensionTool } from "../api/extension-tool.ts";
import type { ExtensionScope } from "./extension-scope.ts";

/** Something that an extension registered under a name. */
export interface Registration<Value> {
  readonly name: string;
  readonly value: Value;
  /** The extension's name in notices. */
  readonly source: string;
  /** The extension's absolute path. */
  readonly path: string;
}

interface RegistrationsOptions<Value> {
  /** Which of two extensions keeps the name. Within one extension the latest registration counts. Default: the later. */
  wins?: "first" | "later";
  /** Called when two extensions have one name. Default: nothing is. */
  onConflict?: (earlier: Registration<Value>, later: Registration<Value>) => void;
}

/**
 * Everything that extensions registered under names, and the one registration of each name that counts.
 * Invariant: after any undoing, in whatever order, all is as if only what is left had ever been registered.
 */
export class Registrations<Value> {
  readonly #options: RegistrationsOptions<Value>;
  /** In the order in which they came. */
  readonly #all = new Set<Registration<Value>>();
  readonly #byName = new Map<string, readonly Registration<Value>[]>();

  constructor(options: RegistrationsOptions<Value> = {}) {
    this.#options = options;
  }

  /** The function returned takes this registration out. */
  add(registration: Registration<Value>): () => void {
    const { name, source } = registration;
    const earlier = this.get(name);
    this.#all.add(registration);
    this.#byName.set(name, [...this.#of(name), registration]);
    if (earlier !== undefined && earlier.source !== source) this.#options.onConflict?.(earlier, registration);
    return () => {
      if (!this.#all.delete(registration)) return;
      const left = this.#of(name).filter((other) => other !== registration);
      if (left.length > 0) this.#byName.set(name, left);
      else this.#byName.delete(name);
    };
  }

  /** The registration that counts. */
  get(name: string): Registration<Value> | undefined {
    const all = this.#of(name);
    if (this.#options.wins !== "first") return all.at(-1);
    return all.findLast(({ path }) => path === all[0]!.path);
  }

  /** The registrations that count, in the order in which their names first came. */
  standing(): readonly Registration<Value>[] {
    const names = new Set([...this.#all].map(({ name }) => name));
    return [...names].map((name) => this.get(name)!);
  }

  #of(name: string): readonly Registration<Value>[] {
    return this.#byName.get(name) ?? [];
  }
}

interface RegisteredTool {
  tool: ExtensionTool;
  forAgent: Tool;
  scope: ExtensionScope;
}

/** Which tools an extension wants the model to be offered. */
interface Choice {
  names: readonly string[];
  /** All that there were by then: a tool that comes later is offered too. */
  known: ReadonlySet<string>;
}

/**
 * Owner of the tools of all extensions, of which tools extensions chose, and of their places in the agent that is
 * worked with.
 */
export class ExtensionTools extends Registrations<RegisteredTool> {
  #choices: readonly Choice[] = [];
  #agent: Agent | undefined;
  /** By registration: what takes it out of the agent. */
  readonly #undos = new Map<Registration<RegisteredTool>, () => void>();
  /** What the agent offered before an extension chose, and what it offers for it now. */
  #chosen: { before: readonly string[] | undefined; now: readonly string[] } | undefined;

  /** The function returned takes the tool out. */
  override add(registration: Registration<RegisteredTool>): () => void {
    const forget = super.add(registration);
    this.#offer();
    this.#applyChoice();
    return () => {
      forget();
      this.#offer();
      this.#applyChoice();
    };
  }

  /** Offers the model only these, of the tools that there are. The function returned takes the choice back. */
  choose(names: readonly string[]): () => void {
    const choice = { names: [...names], known: new Set(this.#agent?.tools.names) };
    this.#choices = [...this.#choices, choice];
    this.#applyChoice();
    return () => {
      this.#choices = this.#choices.filter((other) => other !== choice);
      this.#applyChoice();
    };
  }

  /** Takes the tools out of the former agent and gives them to this one. Choices were about the former: they end. */
  attach(agent: Agent | undefined): void {
    this.#choices = [];
    this.#applyChoice();
    for (const undo of this.#undos.values()) undo();
    this.#undos.clear();
    this.#agent = agent;
    this.#offer();
  }

  /** Gives the agent the tools that count, and takes the others out. */
  #offer(): void {
    const tools = this.#agent?.tools;
    if (tools === undefined) return;
    const standing = new Set(this.standing());
    for (const [registration, undo] of this.#undos) {
      if (standing.has(registration)) continue;
      undo();
      this.#undos.delete(registration);
    }
    for (const registration of standing)
      if (!this.#undos.has(registration))
        this.#undos.set(registration, tools.register(registration.value.forAgent));
  }

  #applyChoice(): void {
    const tools = this.#agent?.tools;
    if (tools === undefined) return;
    const choice = this.#choices.at(-1);
    const former = this.#chosen;
    const isOurs = former !== undefined && tools.chosen === former.now;
    if (choice === undefined) {
      // Whoever chose after the extension, a user for instance, is not overruled.
      if (isOurs) tools.setActive(former.before);
      this.#chosen = undefined;
      return;
    }
    const { names, known } = choice;
    const now = tools.names.filter((name) => names.includes(name) || !known.has(name));
    this.#chosen = { before: isOurs ? former.before : tools.chosen, now };
    tools.setActive(now);
  }
}
