import type { AgentNotice } from "@bonsai-agent/agent";
import type { DialogOptions, FrontEndDrawing, FrontEndUI } from "@bonsai-agent/extension";
import { dialogEnd } from "../../extensions/dialog-end.ts";
import { oneAfterTheOther } from "../../extensions/one-after-the-other.ts";
import { printable } from "../../views/printable.ts";
import { drawingUi, type Folding } from "../extension-views/drawing-ui.ts";
import type { Panel, Screen } from "../screen.ts";
import { stripTerminalSequences } from "../terminal/tui.ts";
import { ConfirmPanel } from "./confirm-panel.ts";
import { EditorPanel } from "./editor-panel.ts";
import { ExtensionLines, WidgetView } from "./extension-lines.ts";
import { InputPanel } from "./input-panel.ts";
import { PickList } from "./pick-list.ts";
import { TypingRest } from "./typing-rest.ts";

/** What dialogs need of the place where the user types. */
export interface TypedText {
  getText(): string;
  setText(text: string): void;
}

export interface PanelUiOptions {
  screen: Screen;
  tell: (notice: Pick<AgentNotice, "level" | "message">) => void;
  /** The editor. Default: none, and `getEditorText` is empty. */
  editor?: TypedText;
  /** Nobody answers from then on: open questions are answered as if nobody had. Default: never aborts. */
  signal?: AbortSignal;
  /** Absolute; whose git branch a footer of an extension tells. Default: the process's. */
  cwd?: string;
  /** What extensions want to be said beside the spinner. Default: nobody says it. */
  onWorkingMessage?: (message: string | undefined) => void;
  /** An extension has appended an entry. Default: nobody is told. */
  onEntry?: FrontEndDrawing["showEntry"];
  /** What extensions can fold and unfold. Default: nothing. */
  folding?: Folding;
}

export interface PanelUi extends FrontEndUI {
  /** What extensions show beside the chat; the footer reads its statuses. */
  readonly extensionLines: ExtensionLines;
}

const nothingToFold: Folding = { isExpanded: false, toggleExpanded() {} };

/** Dialogs in the place of the editor, for extensions and for commands: one after the other. */
export function panelUi({
  screen,
  tell,
  editor,
  signal = new AbortController().signal,
  cwd = process.cwd(),
  onWorkingMessage = () => {},
  onEntry = () => {},
  folding = nothingToFold,
}: PanelUiOptions): PanelUi {
  const rest = new TypingRest(screen);
  const untilRest = (end: AbortSignal) => rest.reached(end);
  const extensionLines = new ExtensionLines(() => screen.redraw());
  screen.activity.addChild(new WidgetView(extensionLines, "aboveEditor"));
  screen.below.addChild(new WidgetView(extensionLines, "belowEditor"));
  return {
    ...dialogs(screen, signal, untilRest),
    ...drawingUi({
      screen,
      lines: extensionLines,
      cwd,
      tell,
      onWorkingMessage,
      onEntry,
      folding,
      untilRest,
      signal,
    }),
    extensionLines,
    notify: (message, type = "info") => tell({ level: type === "info" ? "info" : "warning", message }),
    setStatus: (key, text) => extensionLines.setStatus(key, text),
    setWidget: (key, lines, { placement = "aboveEditor" } = {}) =>
      extensionLines.setWidget(key, lines, placement),
    setTitle: (title) => screen.tui.terminal.setTitle(printable(title)),
    setEditorText: (text) => {
      editor?.setText(text);
      screen.redraw();
    },
    getEditorText: () => editor?.getText() ?? "",
  };
}

function dialogs(
  screen: Screen,
  ended: AbortSignal,
  untilRest: (signal: AbortSignal) => Promise<void>,
): Pick<FrontEndUI, "select" | "confirm" | "input" | "editor"> {
  const asked = oneAfterTheOther();
  const show = <Value>(
    make: (done: (value: Value | undefined) => void) => Panel,
    settings?: DialogOptions,
  ): Promise<Value | undefined> =>
    asked(async () => {
      await untilRest(ended);
      const end = dialogEnd(ended, settings);
      return end.aborted ? undefined : screen.show(make, end);
    });
  return {
    select: async (title, options, settings) => {
      if (options.length === 0) return undefined;
      // Two options can have the same words: their place tells them apart.
      const items = options.map((option, at) => ({ option, at }));
      return show<string>((done) => {
        const onPick = ({ option }: { option: string }) => done(option);
        const onCancel = () => {
          // No search for one of these: somebody typed on. It is not lost.
          if (list.model.matches.length === 0) screen.typeThrough(list.model.query);
          done(undefined);
        };
        const list: PickList<{ option: string; at: number }> = new PickList({
          place: screen,
          title: plain(title),
          items,
          key: ({ at }) => String(at),
          text: ({ option }) => plain(option),
          row: ({ option }) => ({ label: plain(option) }),
          onPick,
          onCancel,
          comesByItself: true,
        });
        return list;
      }, settings);
    },
    confirm: async (title, message, settings) =>
      (await show<boolean>((done) => {
        const typeThrough = (data: string) => screen.typeThrough(data);
        return new ConfirmPanel({
          place: screen,
          title: plain(title),
          message: plain(message),
          onAnswer: done,
          typeThrough,
        });
      }, settings)) === true,
    input: (title, placeholder, settings) =>
      show<string>(
        (done) => new InputPanel({ place: screen, title: plain(title), placeholder, onDone: done }),
        settings,
      ),
    editor: (title, prefill = "") =>
      show<string>((done) => new EditorPanel({ screen, title: plain(title), prefill, onDone: done })),
  };
}

/** Colours of an extension's own are left out: panels have theirs. */
const plain = stripTerminalSequences;
