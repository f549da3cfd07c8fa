import type { AgentHost } from "../../call/agent-host.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { cycleModel, nextThinking } from "../slash/model-commands.ts";
import { commandOfKey } from "../slash/slash-commands.ts";
import { keys } from "../terminal/keys.ts";
import { isKeyRelease, type KeyId, matchesKey } from "../terminal/tui.ts";
import { pasteClipboard } from "./clipboard.ts";
import { editPromptOutside } from "./external-editor.ts";
import type { PromptQueue } from "./prompt-queue.ts";

/** A second Esc within this time opens the tree, a second Ctrl-C ends the program. */
const secondEscMs = 500;
const secondCtrlCMs = 1_000;
/** A process that still runs after this time was not suspended. */
const suspendedWithinMs = 200;

/** Owner of the keys that work everywhere: stop, quit, suspend and the user's actions. */
export class KeyHandler {
  readonly #context: InteractiveContext;
  readonly #queue: PromptQueue;
  readonly #tasks: AbortController[] = [];
  #lastEscMs = Number.NEGATIVE_INFINITY;
  /** An extension's editor has received the stop key, and no other since. */
  #isEscGiven = false;
  #lastCtrlCMs = Number.NEGATIVE_INFINITY;

  constructor(context: InteractiveContext, queue: PromptQueue) {
    this.#context = context;
    this.#queue = queue;
  }

  async interruptible<Value>(task: (signal: AbortSignal) => Promise<Value>): Promise<Value> {
    const controller = new AbortController();
    this.#tasks.push(controller);
    try {
      return await task(AbortSignal.any([controller.signal, this.#context.quitSignal]));
    } finally {
      this.#tasks.splice(this.#tasks.indexOf(controller), 1);
    }
  }

  /** Called for each key before the focus gets it. */
  onKey(data: string): { consume: true } | undefined {
    if (isKeyRelease(data)) return undefined;
    // Another key in between resets a double press.
    if (!keys.matches("clearOrQuit", data)) this.#lastCtrlCMs = Number.NEGATIVE_INFINITY;
    if (!keys.matches("interrupt", data)) {
      this.#lastEscMs = Number.NEGATIVE_INFINITY;
      this.#isEscGiven = false;
    }
    return this.#takes(data) ? { consume: true } : undefined;
  }

  /** To be called if an extension's editor does not use the stop key. */
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
    void cycleModel(this.#context, step);
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

  /** An extension's editor gets the first press only. */
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
      // An idle agent can still wait for an extension.
      void host?.stop();
    }
    return true;
  }

  #stop(host: AgentHost): void {
    const { activity } = this.#context.status;
    // The user sees the whole answer and wants the tree, although the run is still ending.
    if (activity.isEnding) this.#idleEsc();
    activity.dispatch({ type: "stop" });
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
    // Without a waiting shell, the signal does nothing and SIGCONT never comes.
    const timer = setTimeout(goOn, suspendedWithinMs);
    // Signals the whole foreground: the parent process would keep the terminal.
    process.kill(0, "SIGTSTP");
    return true;
  }
}

/** @returns false for a key without an action */
function doAction(data: string, context: InteractiveContext): boolean {
  const command = commandOfKey(data);
  if (command !== undefined) context.pressed(command);
  else if (keys.matches("expand", data)) context.chat.toggleExpanded();
  else if (keys.matches("cycleThinking", data)) void nextThinking(context);
  else if (keys.matches("paste", data)) void pasteClipboard(context);
  else if (keys.matches("externalEditor", data)) void editPromptOutside(context);
  else return runShortcut(data, context);
  return true;
}

function runShortcut(data: string, { host }: InteractiveContext): boolean {
  const extensions = host.app.extensions.now;
  const key = [...extensions.shortcuts.keys()].find((each) => matchesKey(data, each as KeyId));
  if (key === undefined) return false;
  void extensions.runShortcut(key);
  return true;
}
