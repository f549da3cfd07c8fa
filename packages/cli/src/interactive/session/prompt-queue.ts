import { setTimeout as sleep } from "node:timers/promises";
import type { Agent, PromptInput, RunResult, StreamingBehavior } from "@bonsai-agent/agent";
import { defaultModel } from "@bonsai-agent/models";
import { mentionedFiles } from "../../call/file-mentions.ts";
import { errorText } from "../../views/error-text.ts";
import { withLiveOutput } from "../chat/command-block.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { isNoModel } from "../no-model.ts";
import { typedMessage } from "../prompt/typed-message.ts";
import { reloadModels } from "../slash/model-commands.ts";
import { slashCommandOf, unknownCommand } from "../slash/slash-commands.ts";
import { keys } from "../terminal/keys.ts";

interface SubmitOptions {
  /** How it reaches a working agent. Default "steer". */
  behavior?: StreamingBehavior | undefined;
  /** The words of the command line: each can be a path. Default: the text alone. */
  words?: readonly string[];
  /** A key sent it: it never comes into the editor. */
  isKey?: boolean | undefined;
}

interface Typed extends SubmitOptions {
  text: string;
  /** True once it is back in the editor. */
  isRestored?: boolean;
}

/** Owner of typed texts from Enter until they are sent or back in the editor. */
export class PromptQueue {
  readonly #context: InteractiveContext;
  #isOpen = false;
  /** In the typed order: texts that wait for the session, for an idle agent, or for an earlier text. */
  #held: Typed[] = [];
  /** Several texts can have one result. */
  readonly #handled = new WeakSet<RunResult>();
  #turn: Promise<void> = Promise.resolve();

  constructor(context: InteractiveContext) {
    this.#context = context;
  }

  /** To be called when the session is open. Sends the words of the command line and the texts typed meanwhile. */
  begin(words: readonly string[]): void {
    this.#isOpen = true;
    const early = this.#held.splice(0);
    if (words.length > 0) this.submit(words.join(" "), { words });
    else if (notifyFirstRun(this.#context) && this.#context.call.io.env.BONSAI_FIRST_RUN === "demo")
      this.submit("/demo");
    for (const { text, ...options } of early) this.submit(text, options);
  }

  /** The program ends: waiting texts are not sent. The history has them. */
  end(): void {
    this.#isOpen = false;
    this.#drain();
  }

  submit(text: string, options: SubmitOptions = {}): void {
    if (text.trim() === "") return;
    const typed = { text, ...options };
    if (this.#isOpen) void this.#sendOrRestore(typed);
    else this.#enqueue(typed);
  }

  get held(): readonly { text: string }[] {
    return this.#held;
  }

  /** Moves all waiting texts, also those at the agent, back into the editor. @returns false if there are none */
  restoreQueued(): boolean {
    const queued = this.#isOpen ? this.#originalTexts(this.#context.host.agent.clearQueue()) : [];
    const held = this.#drain();
    this.#restore([...queued, ...typedTexts(held)]);
    return queued.length + held.length > 0;
  }

  /** Moves the texts that have not reached the agent back into the editor. @returns false if there are none */
  restoreHeld(): boolean {
    const held = this.#drain();
    // The next text does not wait for the same cause.
    if (held.length > 0) this.#turn = Promise.resolve();
    this.#restore(typedTexts(held));
    return held.length > 0;
  }

  #restore(texts: readonly string[]): void {
    this.#context.editor.restoreText(...texts);
  }

  #enqueue(typed: Typed): void {
    this.#held.push(typed);
    this.#context.screen.redraw();
  }

  #drain(): Typed[] {
    const drained = this.#held.splice(0);
    for (const typed of drained) typed.isRestored = true;
    return drained;
  }

  /** @returns false if it was restored meanwhile */
  #dequeue(typed: Typed): boolean {
    this.#held = this.#held.filter((each) => each !== typed);
    this.#context.screen.redraw();
    return typed.isRestored !== true;
  }

  /** Reports an error and restores the text, unless it is a command without arguments. */
  async #sendOrRestore(typed: Typed): Promise<void> {
    try {
      await this.#send(typed);
    } catch (error) {
      this.#context.notify(errorText(error), "error");
      if (this.#dequeue(typed) && slashCommandOf(typed.text)?.args !== "") this.#restore(typedTexts([typed]));
    }
  }

  async #send(typed: Typed): Promise<void> {
    const { text } = typed;
    const context = this.#context;
    const slash = slashCommandOf(text);
    if (slash !== undefined) {
      const { command, args } = slash;
      if (command.worksWhileBusy === true) return void (await command.run(args, context));
      return this.#runInOrder(typed, async () => {
        if (await this.#waitUntilIdle(typed, `/${command.name}`)) await command.run(args, context);
      });
    }
    const extensions = context.host.app.extensions.now;
    if (extensions.hasCommand(text)) return void (await extensions.runCommand(text));
    if (text.trimStart().startsWith("/")) await refuseUnknown(text, context);
    const [, quiet, command] = /^!(!)?\s*(\S[\s\S]*)$/.exec(text) ?? [];
    if (command !== undefined) return this.#runCommand(typed, command, quiet !== undefined);
    const { run } = await this.#runInOrder(typed, () => this.#prompt(typed));
    if (run !== undefined) this.#handleEnd(await run);
  }

  /** Texts reach the agent in the typed order, even if one has to wait. */
  #runInOrder<Value>(typed: Typed, task: () => Promise<Value>): Promise<Value> {
    this.#enqueue(typed);
    const done = this.#turn.then(task);
    this.#turn = done.then(
      () => {},
      () => {},
    );
    return done;
  }

  /** Later texts do not wait for the command's end: the agent queues them. */
  async #runCommand(typed: Typed, command: string, isQuiet: boolean): Promise<void> {
    const { ended } = await this.#runInOrder(typed, async () => {
      if (!(await this.#waitUntilIdle(typed, `The ${isQuiet ? "!!" : "!"} command`))) return {};
      const { screen, host } = this.#context;
      const ended = withLiveOutput(screen, command, (onOutput) =>
        host.agent.runUserCommand(command, { excludeFromContext: isQuiet, onOutput }),
      );
      return { ended };
    });
    await ended;
  }

  /** Returns the run in an object: the caller waits for the start only. */
  async #prompt(typed: Typed): Promise<{ run?: Promise<RunResult> }> {
    const { text, behavior = "steer", words = [text] } = typed;
    const { host, editor } = this.#context;
    const files = mentionedFiles(words, host.app.call.io);
    const images = [...files.images, ...editor.images.in(text)];
    const isAnswered = await hasModel(this.#context);
    // A stopping agent would return the text.
    while (host.agent.signal?.aborted === true) await host.agent.idle();
    if (!this.#dequeue(typed)) return {};
    if (!isAnswered) {
      this.#restore(typedTexts([typed]));
      return {};
    }
    const sent = [text, ...files.quotes].join("\n\n");
    const more = images.length === 0 ? {} : { images };
    return { run: host.agent.prompt(sent, { source: "interactive", behavior, ...more }) };
  }

  /** Restores a text whose command needs an idle agent if the agent does not become idle soon. */
  async #waitUntilIdle(typed: Typed, what: string): Promise<boolean> {
    const { host, notify, status } = this.#context;
    const isIdle = await becomesIdle(host.agent, () => status.activity.isEnding);
    if (!this.#dequeue(typed)) return false;
    if (isIdle && !host.agent.isBusy) return true;
    notify(
      `${what} has to wait for the agent. Press ${keys.label("interrupt")} to stop the agent.`,
      "warning",
    );
    this.#restore(typedTexts([typed]));
    return false;
  }

  #handleEnd(result: RunResult): void {
    if (this.#handled.has(result)) return;
    this.#handled.add(result);
    const { status, error, unsent = [] } = result;
    const { chat, notify } = this.#context;
    if (status === "failed" && !(this.#isOpen && chat.showsFailure(error))) notify(errorText(error), "error");
    if (status === "paused") notify("Compacted and paused. Send a prompt to continue.");
    this.#restore(this.#originalTexts(unsent));
  }

  /** The texts as typed, without the files that they name. */
  #originalTexts(sent: readonly PromptInput[]): string[] {
    const { call, editor } = this.#context;
    return sent.map(({ text, images = [] }) => typedMessage({ text, images }, call.io.cwd, editor.images));
  }
}

/** Time between the last words of an answer and its end, which the user does not see. */
const GRACE_MS = 300;
/** Handlers of a run's end may take a moment. */
const ENDING_MS = 2_700;

/** Waits for an agent that is being stopped, or whose run is about to end. @returns false if it continues */
async function becomesIdle(agent: Agent, isEnding: () => boolean): Promise<boolean> {
  if (!agent.isBusy) return true;
  const idle = agent.idle().then(() => true);
  if (agent.signal?.aborted === true) return idle;
  const idleWithin = (ms: number) => Promise.race([idle, sleep(ms, false, { ref: false })]);
  return (await idleWithin(GRACE_MS)) || (isEnding() && idleWithin(ENDING_MS));
}

/** @throws BonsaiError `unknown_command` for a text that only looks like a command */
async function refuseUnknown(text: string, { host }: InteractiveContext): Promise<void> {
  const { extensions, resources } = host.app;
  if (await resources.hasCommand(text)) return;
  const unknown = unknownCommand(text, [...extensions.now.commands, ...(await resources.commands())]);
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

/** Explains what works without a model. @returns false if there is one */
function notifyFirstRun({ host, notify }: InteractiveContext): boolean {
  if (!isNoModel(host.agent.model)) return false;
  notify(firstRunLines);
  return true;
}

/** Searches again if there was no model: a key or a server may have come since. */
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
