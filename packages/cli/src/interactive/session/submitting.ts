import type { PromptInput, RunResult, StreamingBehavior } from "@bonsai-agent/agent";
import { defaultModel } from "@bonsai-agent/models";
import { mentionedFiles } from "../../call/file-mentions.ts";
import { withLiveOutput } from "../chat/command-block.ts";
import { errorText } from "../error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import type { PromptEditor } from "../prompt/prompt-editor.ts";
import { typedMessage } from "../prompt/typed-message.ts";
import { reloadModels } from "../slash/model-commands.ts";
import { slashCommandOf, unknownCommand } from "../slash/slash-commands.ts";
import { keys } from "../terminal/keys.ts";
import { type GracePeriod, untilStopped } from "./grace-period.ts";

interface SubmittingOptions {
  editor: PromptEditor;
  notify: InteractiveContext["notify"];
  gracePeriod: GracePeriod;
  redraw: () => void;
}

interface SubmitOptions {
  /** How it reaches an agent that is at work. Default "steer". */
  behavior?: StreamingBehavior | undefined;
  /** The arguments of the command line, where the text is made of them: each can be a path. Default: the text alone. */
  words?: readonly string[];
  /** A key stands for it: nobody typed it, and it never comes into the editor. */
  isKey?: boolean | undefined;
}

interface Typed extends SubmitOptions {
  text: string;
}

/** Owner of what was typed, from the Enter until it is sent or back in the editor. */
export class Submitting {
  readonly #options: SubmittingOptions;
  #context: InteractiveContext | undefined;
  /** In the order in which it was typed: what waits for the session, for rest, or for what was typed before. */
  #held: Typed[] = [];
  readonly #takenBack = new WeakSet<Typed>();
  /** What was typed, by what was sent of it: the files that it names are in there. */
  readonly #typedOf = new Map<string, string>();
  /** Several texts can have one result. */
  readonly #handled = new WeakSet<RunResult>();
  #turn: Promise<void> = Promise.resolve();

  constructor(options: SubmittingOptions) {
    this.#options = options;
  }

  /** The session is there: sends the words of the command line, and what was typed meanwhile. */
  begin(context: InteractiveContext, words: readonly string[]): void {
    this.#context = context;
    const early = this.#held.splice(0);
    if (words.length > 0) this.submit(words.join(" "), { words });
    else if (notifyFirstRun(context) && context.host.app.call.io.env.BONSAI_FIRST_RUN === "demo")
      this.submit("/demo");
    for (const { text, ...options } of early) this.submit(text, options);
  }

  /** The user quits: what waits is not begun any more. The history has it. */
  end(): void {
    this.#context = undefined;
    this.#takeHeld();
  }

  submit(text: string, options: SubmitOptions = {}): void {
    if (text.trim() === "") return;
    const typed = { text, ...options };
    if (this.#context === undefined) this.#hold(typed);
    else void this.#take(typed, this.#context);
  }

  /** What waits here, and not yet at the agent. */
  get held(): readonly { text: string }[] {
    return this.#held;
  }

  /** What waits, here and at the agent, comes back into the editor. @returns false where nothing does */
  takeBackQueued(): boolean {
    const queued = this.#asTyped(this.#context?.host.agent.clearQueue() ?? []);
    const held = this.#takeHeld();
    this.#options.editor.giveBack(...queued, ...typedTexts(held));
    return queued.length + held.length > 0;
  }

  /** What has not reached the agent comes back into the editor. @returns false where nothing does */
  takeBackHeld(): boolean {
    const held = this.#takeHeld();
    // Nor does what is typed next wait for what kept them.
    if (held.length > 0) this.#turn = Promise.resolve();
    this.#options.editor.giveBack(...typedTexts(held));
    return held.length > 0;
  }

  #hold(typed: Typed): void {
    this.#held.push(typed);
    this.#options.redraw();
  }

  #takeHeld(): Typed[] {
    const taken = this.#held.splice(0);
    for (const typed of taken) this.#takenBack.add(typed);
    return taken;
  }

  /** @returns false where it was taken back meanwhile */
  #release(typed: Typed): boolean {
    this.#held = this.#held.filter((each) => each !== typed);
    this.#options.redraw();
    return !this.#takenBack.has(typed);
  }

  /** What goes wrong is a notice, and what was typed comes back; of a command alone, there is nothing to keep. */
  async #take(typed: Typed, context: InteractiveContext): Promise<void> {
    try {
      await this.#send(typed, context);
    } catch (error) {
      this.#options.notify(errorText(error), "error");
      if (this.#release(typed) && slashCommandOf(typed.text)?.args !== "")
        this.#options.editor.giveBack(...typedTexts([typed]));
    }
  }

  async #send(typed: Typed, context: InteractiveContext): Promise<void> {
    const { text } = typed;
    const slash = slashCommandOf(text);
    if (slash !== undefined) {
      const { command, args } = slash;
      if (command.worksWhileBusy === true) return command.run(args, context);
      return this.#inOrder(typed, async () => {
        if (await this.#isAtRest(typed, context, `/${command.name}`)) await command.run(args, context);
      });
    }
    const { extensions } = context.host.app;
    if (extensions.hasCommand(text)) return extensions.runCommand(text);
    if (text.trimStart().startsWith("/")) await refuseUnknown(text, context);
    const [, quiet, command] = /^!(!)?\s*(\S[\s\S]*)$/.exec(text) ?? [];
    if (command !== undefined)
      return this.#runCommand(typed, context, { command, isQuiet: quiet !== undefined });
    const { run } = await this.#inOrder(typed, () => this.#begin(typed, context));
    if (run !== undefined) this.#ended(await run);
  }

  /** What is typed reaches the agent in its order, also where something has to be waited for first. */
  #inOrder<Value>(typed: Typed, task: () => Promise<Value>): Promise<Value> {
    this.#hold(typed);
    const done = this.#turn.then(task);
    this.#turn = done.then(
      () => {},
      () => {},
    );
    return done;
  }

  /** What is typed behind it does not wait for its end: the agent queues it. */
  async #runCommand(
    typed: Typed,
    context: InteractiveContext,
    { command, isQuiet }: { command: string; isQuiet: boolean },
  ): Promise<void> {
    const { ended } = await this.#inOrder(typed, async () => {
      if (!(await this.#isAtRest(typed, context, `The ${isQuiet ? "!!" : "!"} command`))) return {};
      const { screen, host } = context;
      const ended = withLiveOutput(screen, command, (onOutput) =>
        host.agent.runUserCommand(command, { excludeFromContext: isQuiet, onOutput }),
      );
      return { ended };
    });
    await ended;
  }

  /** In an object: who waits for the beginning does not wait for the end. */
  async #begin(typed: Typed, context: InteractiveContext): Promise<{ run?: Promise<RunResult> }> {
    const { text, behavior = "steer", words = [text] } = typed;
    const files = mentionedFiles(words, context.host.app.call.io);
    const images = [...files.images, ...this.#options.editor.images.in(text)];
    const isAnswered = await hasModel(context);
    await untilStopped(() => context.host.agent);
    if (!this.#release(typed)) return {};
    if (!isAnswered) {
      this.#options.editor.giveBack(...typedTexts([typed]));
      return {};
    }
    const sent = [text, ...files.quotes].join("\n\n");
    if (sent !== text) this.#typedOf.set(sent, text);
    const more = images.length === 0 ? {} : { images };
    return { run: context.host.agent.prompt(sent, { source: "interactive", behavior, ...more }) };
  }

  /** What needs the agent at rest stands in the editor again where that does not come soon. */
  async #isAtRest(typed: Typed, { host }: InteractiveContext, what: string): Promise<boolean> {
    const rests = await this.#options.gracePeriod.soon(host.agent);
    if (!this.#release(typed)) return false;
    if (rests && !host.agent.isBusy) return true;
    const message = `${what} has to wait for the agent. Press ${keys.label("interrupt")} to stop the agent.`;
    this.#options.notify(message, "warning");
    this.#options.editor.giveBack(...typedTexts([typed]));
    return false;
  }

  #ended(result: RunResult): void {
    if (this.#handled.has(result)) return;
    this.#handled.add(result);
    const { status, error, unsent = [] } = result;
    if (status === "failed" && this.#context?.chat.showsFailure(error) !== true)
      this.#options.notify(errorText(error), "error");
    if (status === "paused") this.#options.notify("Compacted and paused. Send a prompt to continue.");
    this.#options.editor.giveBack(...this.#asTyped(unsent));
    if (!this.#context?.host.agent.isBusy) this.#typedOf.clear();
  }

  /** Without the files that they name. */
  #asTyped(sent: readonly PromptInput[]): string[] {
    const cwd = this.#context?.host.app.cwd ?? ".";
    const { images: pasted } = this.#options.editor;
    return sent.map(({ text, images = [] }) => {
      const message = typedMessage({ text, images }, cwd, pasted);
      return this.#typedOf.get(text) ?? message;
    });
  }
}

/** @throws BonsaiError `unknown_command` for what looks like a command and is none */
async function refuseUnknown(text: string, { host }: InteractiveContext): Promise<void> {
  const { extensions, resources } = host.app;
  if (await resources.hasCommand(text)) return;
  const unknown = unknownCommand(text, [...extensions.commands, ...(await resources.commands())]);
  if (unknown !== undefined) throw unknown;
}

function typedTexts(sent: readonly Typed[]): string[] {
  return sent.filter(({ isKey }) => isKey !== true).map(({ text }) => text);
}

const firstRunLines = [
  "No model available yet. Run `bonsai demo` to see a session without a model.",
  "`bonsai compact FILE` works on Claude Code, Codex and pi sessions.",
  "Store a key with /login. A local Ollama or llama.cpp is found automatically.",
].join("\n");

/** Notifies what works without a model. @returns false where there is one */
function notifyFirstRun({ host, notify }: InteractiveContext): boolean {
  if (!isNoModel(host.agent.model)) return false;
  notify(firstRunLines);
  return true;
}

/** Looks again for a model where there was none: a key or a server may have come since. */
async function hasModel(context: InteractiveContext): Promise<boolean> {
  const { agent, app } = context.host;
  if (!isNoModel(agent.model)) return true;
  reloadModels(context);
  const usable = await defaultModel(app.models);
  if (usable === undefined) {
    notifyFirstRun(context);
    return false;
  }
  await agent.setModel(usable.model);
  context.screen.redraw();
  return true;
}
