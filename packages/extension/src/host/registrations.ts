import type { Agent, AgentNotice, Tool } from "@bonsai-agent/agent";
import type { ExtensionTool } from "../api/extension-tool.ts";
import type { ExtensionScope } from "./extension-scope.ts";

export interface Registration<Value> {
  readonly name: string;
  readonly value: Value;
  readonly scope: ExtensionScope;
}

interface RegistrationsOptions {
  /** The kind, for people: "command". */
  what: string;
  /** The extension that keeps a name. Within one extension the latest registration counts. */
  wins: "first" | "later";
  onNotice: (notice: AgentNotice) => void;
}

/**
 * All registrations of one kind, and the one of each name that counts.
 * Invariant: after any undo, the result is as if only the remaining registrations had ever been made.
 */
export class Registrations<Value> {
  readonly #options: RegistrationsOptions;
  readonly #all = new Set<Registration<Value>>();

  constructor(options: RegistrationsOptions) {
    this.#options = options;
  }

  /** Registers a value until its extension is unloaded. The function returned removes it at once. */
  register(scope: ExtensionScope, name: string, value: Value): () => void {
    return scope.keepAs(`${this.#options.what} ${name}`, this.add({ name, value, scope }));
  }

  add(registration: Registration<Value>): () => void {
    const earlier = this.get(registration.name);
    this.#all.add(registration);
    if (earlier !== undefined && earlier.scope !== registration.scope)
      this.#notifyConflict(earlier, registration);
    return () => void this.#all.delete(registration);
  }

  get(name: string): Registration<Value> | undefined {
    return this.#counting([...this.#all].filter((each) => each.name === name));
  }

  /** The registrations that count, in order of their names' first registration. */
  standing(): readonly Registration<Value>[] {
    return [...Map.groupBy(this.#all, ({ name }) => name).values()].map((same) => this.#counting(same)!);
  }

  #counting(same: readonly Registration<Value>[]): Registration<Value> | undefined {
    return this.#options.wins === "later"
      ? same.at(-1)
      : same.findLast(({ scope }) => scope === same[0]!.scope);
  }

  #notifyConflict(
    { scope: earlier, name }: Registration<Value>,
    { scope: later }: Registration<Value>,
  ): void {
    const { what, wins, onNotice } = this.#options;
    const used = wins === "first" ? earlier : later;
    onNotice({
      level: "warning",
      code: "extension_conflict",
      message: `${earlier.source} and ${later.source} both register the ${what} ${name}. Using the one from ${used.source}.`,
    });
  }
}

interface RegisteredTool {
  tool: ExtensionTool;
  forAgent: Tool;
}

/** The tools that an extension lets the model use. */
interface Choice {
  names: readonly string[];
  /** The tools at the time of the choice: later tools are active too. */
  known: ReadonlySet<string>;
}

/** Owner of all extensions' tools, of the choices of active tools, and of their registrations in the current agent. */
export class ExtensionTools extends Registrations<RegisteredTool> {
  #choices: readonly Choice[] = [];
  #agent: Agent | undefined;
  /** The undo of each registration in the agent. */
  readonly #undos = new Map<Registration<RegisteredTool>, () => void>();
  /** The active tools before and after an extension's choice. */
  #chosen: { before: readonly string[] | undefined; now: readonly string[] } | undefined;

  /** The function returned removes the tool. */
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

  /** Lets the model use only these tools. The function returned undoes the choice. */
  choose(names: readonly string[]): () => void {
    const choice = { names: [...names], known: new Set(this.#agent?.tools.names) };
    this.#choices = [...this.#choices, choice];
    this.#applyChoice();
    return () => {
      this.#choices = this.#choices.filter((other) => other !== choice);
      this.#applyChoice();
    };
  }

  /** Moves the tools to another agent. Ends all choices, because they belong to the former one. */
  attach(agent: Agent | undefined): void {
    this.#choices = [];
    this.#applyChoice();
    for (const undo of this.#undos.values()) undo();
    this.#undos.clear();
    this.#agent = agent;
    this.#offer();
  }

  /** Registers the tools that count in the agent, and removes the others. */
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
      // Keeps a later choice of the user.
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
