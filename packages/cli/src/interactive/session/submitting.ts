import type { RunResult, StreamingBehavior } from "@bonsai-agent/agent";
import { mentionedFiles } from "../../work/file-mentions.ts";
import type { InteractiveWork } from "../interactive-work.ts";
import { keys } from "../keys/keys.ts";
import type { PromptEditor } from "../prompt/prompt-editor.ts";
import { slashCommandOf } from "../slash/slash-commands.ts";
import { errorText } from "./error-text.ts";
import { hasModel, tellFirstRun } from "./first-run.ts";
import { unknownCommand } from "./unknown-command.ts";

export interface SubmittingOptions {
  editor: PromptEditor;
  tell: InteractiveWork["tell"];
}

export interface SubmitOptions {
  /** How it reaches an agent that is at work. Default "steer". */
  behavior?: StreamingBehavior | undefined;
  /** The arguments of the command line, where the text is made of them: each can be a path. Default: the text alone. */
  words?: readonly string[];
}

interface Typed extends SubmitOptions {
  text: string;
}

/** Owner of what was typed, from the Enter until it is sent or back in the editor. */
export class Submitting {
  readonly #editor: PromptEditor;
  readonly #tell: InteractiveWork["tell"];
  #work: InteractiveWork | undefined;
  /** Typed while the session was being opened. */
  #early: Typed[] = [];
  /** What was typed, by what was sent of it: the files that it names are in there. */
  readonly #typedOf = new Map<string, string>();
  /** Several texts can have one result. */
  readonly #told = new WeakSet<RunResult>();
  #turn: Promise<void> = Promise.resolve();

  constructor({ editor, tell }: SubmittingOptions) {
    this.#editor = editor;
    this.#tell = tell;
  }

  /** The session is there: sends the words of the command line, and what was typed meanwhile. */
  begin(work: InteractiveWork, words: readonly string[]): void {
    this.#work = work;
    if (words.length > 0) this.submit(words.join(" "), { words });
    else if (tellFirstRun(work) && work.host.workshop.call.io.env.BONSAI_FIRST_RUN === "demo")
      this.submit("/demo");
    for (const { text, ...options } of this.#early.splice(0)) this.submit(text, options);
  }

  submit(text: string, options: SubmitOptions = {}): void {
    if (text.trim() === "") return;
    if (this.#work === undefined) {
      this.#early.push({ text, ...options });
      this.#tell({ level: "info", message: `Sent as soon as the session is open: ${text}` });
      return;
    }
    void this.#take({ text, ...options }, this.#work);
  }

  /** What waits comes back into the editor. @returns false where nothing does */
  takeBackQueued(): boolean {
    const queued = this.#work?.host.agent.clearQueue() ?? [];
    if (queued.length > 0)
      this.#editor.giveBack(...queued.map(({ text }) => this.#typedOf.get(text) ?? text));
    return queued.length > 0;
  }

  /** What goes wrong is told, and what was typed comes back. */
  async #take(typed: Typed, work: InteractiveWork): Promise<void> {
    try {
      await this.#send(typed, work);
    } catch (error) {
      this.#tell({ level: "error", message: errorText(error) });
      this.#editor.giveBack(typed.text);
    }
  }

  async #send(typed: Typed, work: InteractiveWork): Promise<void> {
    const { host } = work;
    const { text } = typed;
    const slash = slashCommandOf(text);
    if (slash !== undefined) {
      if (slash.command.worksWhileBusy !== true && this.#mustWait(typed, `/${slash.command.name}`)) return;
      await slash.command.run(slash.args, work);
      return;
    }
    const { extensions } = host.workshop;
    if (extensions.hasCommand(text)) return extensions.runCommand(text);
    const unknown = unknownCommand(text, extensions.commands);
    if (unknown !== undefined) throw unknown;
    const [, quiet, command] = /^!(!)?\s*(\S[\s\S]*)$/.exec(text) ?? [];
    if (command === undefined) return this.#inTurn(typed, work);
    if (this.#mustWait(typed, `!${quiet ?? ""}`)) return;
    await host.agent.runUserCommand(command, { excludeFromContext: quiet !== undefined });
  }

  /** Texts reach the agent in the order in which they were typed, also where a model is looked for first. */
  async #inTurn(typed: Typed, work: InteractiveWork): Promise<void> {
    const begun = this.#turn.then(() => this.#begin(typed, work));
    this.#turn = begun.then(
      () => {},
      () => {},
    );
    const { run } = await begun;
    if (run !== undefined) this.#ended(await run);
  }

  /** In an object: who waits for the beginning does not wait for the end. */
  async #begin(
    { text, behavior = "steer", words = [text] }: Typed,
    work: InteractiveWork,
  ): Promise<{ run?: Promise<RunResult> }> {
    const { quotes, images } = mentionedFiles(words, work.host.workshop.call.io);
    if (!(await hasModel(work))) {
      this.#editor.giveBack(text);
      return {};
    }
    const sent = [text, ...quotes].join("\n\n");
    if (sent !== text) this.#typedOf.set(sent, text);
    const more = images.length === 0 ? {} : { images };
    return { run: work.host.agent.prompt(sent, { source: "interactive", behavior, ...more }) };
  }

  /** What needs the agent at rest stands in the editor again until then. */
  #mustWait({ text }: Typed, what: string): boolean {
    if (this.#work?.host.agent.isBusy !== true) return false;
    const message = `${what} has to wait until the agent is done; ${keys.label("interrupt")} stops it.`;
    this.#tell({ level: "warning", message });
    this.#editor.giveBack(text);
    return true;
  }

  #ended(result: RunResult): void {
    if (this.#told.has(result)) return;
    this.#told.add(result);
    const { status, error, unsent = [] } = result;
    if (status === "failed") this.#tell({ level: "error", message: errorText(error) });
    if (status === "paused")
      this.#tell({ level: "info", message: "Compacted, and waiting: the next prompt goes on." });
    this.#giveBack(unsent);
    if (!this.#work?.host.agent.isBusy) this.#typedOf.clear();
  }

  /** As they were typed, without the files that they name. */
  #giveBack(unsent: readonly { text: string }[]): void {
    if (unsent.length > 0)
      this.#editor.giveBack(...unsent.map(({ text }) => this.#typedOf.get(text) ?? text));
  }
}
