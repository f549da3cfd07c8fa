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
  /** Called when two extensions have one name. Default: nothing is. */
  onConflict?: (earlier: Registration<Value>, later: Registration<Value>) => void;
}

/**
 * What extensions registered under names: the latest of a name stands.
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

  /** The registration that stands. */
  get(name: string): Registration<Value> | undefined {
    return this.#of(name).at(-1);
  }

  /** Each that was not taken out, also those that another covers. */
  get all(): Iterable<Registration<Value>> {
    return this.#all;
  }

  /** Those that stand, each name at the place where it first came. */
  standing(): readonly Registration<Value>[] {
    return [...new Map([...this.#all].map((entry) => [entry.name, entry])).values()];
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
    this.#offer(registration);
    this.#applyChoice();
    return () => {
      forget();
      this.#undos.get(registration)?.();
      this.#undos.delete(registration);
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
    for (const registration of this.all) this.#offer(registration);
  }

  #offer(registration: Registration<RegisteredTool>): void {
    const undo = this.#agent?.tools.register(registration.value.forAgent);
    if (undo !== undefined) this.#undos.set(registration, undo);
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
