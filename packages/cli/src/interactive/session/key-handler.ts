import type { AgentHost } from "../../call/agent-host.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { cycleModel } from "../slash/model-commands.ts";
import { nextThinking } from "../slash/thinking-command.ts";
import { keys } from "../terminal/keys.ts";
import { isKeyRelease, type KeyId, matchesKey } from "../terminal/tui.ts";
import { editPromptOutside } from "./external-editor.ts";
import type { GracePeriod } from "./grace-period.ts";
import { pasteClipboard } from "./pasting.ts";
import type { PromptQueue } from "./prompt-queue.ts";

/** A second Esc within this time opens the tree, a second Ctrl-C ends the program. */
const secondEscMs = 500;
const secondCtrlCMs = 1_000;
/** So long it is shown which model a key led to. */
const cycledMs = 3_000;
/** A process that runs so long after it was to be suspended was not. */
const suspendedWithinMs = 200;

/** Owner of the keys that do something wherever the focus is: stop, quit, suspend, and the actions of the user. */
export class KeyHandler {
  readonly #context: InteractiveContext;
  readonly #queue: PromptQueue;
  readonly #gracePeriod: GracePeriod;
  readonly #tasks: AbortController[] = [];
  #lastEscMs = Number.NEGATIVE_INFINITY;
  /** An editor of an extension has got the key that stops, and no other since. */
  #isEscGiven = false;
  #lastCtrlCMs = Number.NEGATIVE_INFINITY;

  constructor(context: InteractiveContext, queue: PromptQueue, gracePeriod: GracePeriod) {
    this.#context = context;
    this.#queue = queue;
    this.#gracePeriod = gracePeriod;
  }

  /** Runs what Esc aborts before it stops the agent. */
  async interruptible<Value>(task: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const controller = new AbortController();
    this.#tasks.push(controller);
    try {
      return await task(AbortSignal.any([controller.signal, this.#context.quitSignal]));
    } finally {
      this.#tasks.splice(this.#tasks.indexOf(controller), 1);
    }
  }

  /** A key on its way to what has the focus. */
  onKey(data: string): { consume: true } | undefined {
    if (isKeyRelease(data)) return undefined;
    // Twice means: with no other key in between.
    if (!keys.matches("clearOrQuit", data)) this.#lastCtrlCMs = Number.NEGATIVE_INFINITY;
    if (!keys.matches("interrupt", data)) {
      this.#lastEscMs = Number.NEGATIVE_INFINITY;
      this.#isEscGiven = false;
    }
    return this.#takes(data) ? { consume: true } : undefined;
  }

  /** An editor of an extension has no use for the key that stops. */
  escapeUnused(): void {
    this.#isEscGiven = false;
    this.#esc();
  }

  #takes(data: string): boolean {
    const { screen, editor, isOpen } = this.#context;
    if (keys.matches("clearOrQuit", data)) return this.#ctrlC();
    if (screen.hasPanel) return false;
    if (keys.matches("suspend", data)) return this.#suspend();
    if (keys.matches("quit", data)) return this.#ctrlD();
    if (keys.matches("interrupt", data)) return !editor.isShowingAutocomplete() && this.#escOrGive();
    if (keys.matches("queueFollowUp", data)) return this.#followUp();
    if (keys.matches("takeBackQueued", data)) return this.#queue.restoreQueued();
    return isOpen && (this.#cycles(data) || doAction(data, this.#context));
  }

  #cycles(data: string): boolean {
    const step = keys.matches("nextModel", data) ? 1 : keys.matches("previousModel", data) ? -1 : undefined;
    if (step === undefined) return false;
    void cycleModel(this.#context, step, (text) => this.#context.status.hint(text, cycledMs));
    return true;
  }

  #ctrlC(): true {
    const { screen, editor, quit, status } = this.#context;
    const now = performance.now();
    if (now - this.#lastCtrlCMs < secondCtrlCMs) quit();
    else status.hint(`Press ${keys.label("clearOrQuit")} again to quit`, secondCtrlCMs);
    this.#lastCtrlCMs = now;
    if (screen.hasPanel) screen.leaveAll();
    else editor.clear();
    screen.redraw();
    return true;
  }

  #ctrlD(): boolean {
    const { editor, quit } = this.#context;
    if (editor.getText() !== "") return false;
    quit();
    return true;
  }

  #followUp(): true {
    const { editor } = this.#context;
    const text = editor.getExpandedText();
    editor.setText("");
    editor.addToHistory(text);
    this.#queue.submit(text, { behavior: "followUp" });
    return true;
  }

  /** An editor of an extension can have a use for the key, but for it alone: pressed again, the key is ours. */
  #escOrGive(): boolean {
    if (!this.#context.editor.isReplaced || this.#isEscGiven) return this.#esc();
    this.#isEscGiven = true;
    return false;
  }

  #esc(): true {
    const task = this.#tasks.at(-1);
    const host = this.#context.isOpen ? this.#context.host : undefined;
    const hasHeld = this.#queue.restoreHeld();
    if (task !== undefined) task.abort();
    else if (host?.agent.isCompacting) host.agent.cancelCompaction();
    else if (host?.agent.isBusy) this.#stop(host);
    else if (hasHeld || host?.isMoving) host?.stopMoving();
    else {
      this.#idleEsc();
      // Also at rest something can wait for an extension.
      void host?.stop();
    }
    return true;
  }

  #stop(host: AgentHost): void {
    // Who sees the whole answer presses for the tree, whether the run has ended or is about to.
    if (this.#gracePeriod.isEnding) this.#idleEsc();
    this.#context.status.stopBegan();
    void host.stop();
  }

  #idleEsc(): void {
    const { editor, isOpen, pressed, status } = this.#context;
    const now = performance.now();
    const isSecond = now - this.#lastEscMs < secondEscMs;
    this.#lastEscMs = isSecond ? Number.NEGATIVE_INFINITY : now;
    if (!editor.isEmpty || !isOpen) return;
    if (isSecond) pressed("/tree");
    else status.hint(`Press ${keys.label("interrupt")} again for the session tree`, secondEscMs);
  }

  /** The shell has the terminal until the user comes back. */
  #suspend(): true {
    const { screen } = this.#context;
    if (process.platform === "win32") return true;
    screen.stop();
    const goOn = () => {
      clearTimeout(timer);
      process.removeListener("SIGCONT", goOn);
      screen.resume();
    };
    process.on("SIGCONT", goOn);
    // Where no shell waits, the signal does nothing, and no other follows.
    const timer = setTimeout(goOn, suspendedWithinMs);
    // All of the foreground: what started bonsai waits for it, and would keep the terminal.
    process.kill(0, "SIGTSTP");
    return true;
  }
}

/** Does what a key stands for while the editor has the keys. @returns false where it stands for nothing here */
function doAction(data: string, context: InteractiveContext): boolean {
  if (keys.matches("expand", data)) context.chat.toggleExpanded();
  else if (keys.matches("tree", data)) context.pressed("/tree");
  else if (keys.matches("sources", data)) context.pressed("/sources");
  else if (keys.matches("pickModel", data)) context.pressed("/model");
  else if (keys.matches("cycleThinking", data)) void nextThinking(context);
  else if (keys.matches("paste", data)) void pasteClipboard(context);
  else if (keys.matches("copy", data)) context.pressed("/copy");
  else if (keys.matches("externalEditor", data)) void editPromptOutside(context);
  else return runShortcut(data, context);
  return true;
}

/** What extensions put on keys; the program's own actions were asked before. */
function runShortcut(data: string, { host }: InteractiveContext): boolean {
  const { extensions } = host.app;
  const key = [...extensions.shortcuts.keys()].find((each) => matchesKey(data, each as KeyId));
  if (key === undefined) return false;
  void extensions.runShortcut(key);
  return true;
}
