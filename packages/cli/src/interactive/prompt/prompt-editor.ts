import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ImageContent } from "@bonsai-agent/messages";
import type { TakenEditor } from "../extension-views/input-hooks.ts";
import { OpenEditor } from "../terminal/open-editor.ts";
import type { Screen } from "../terminal/screen.ts";
import { type AutocompleteProvider, getKeybindings, truncateToWidth, visibleWidth } from "../terminal/tui.ts";
import {
  asPaste,
  HELD_TAB,
  heldTabs,
  isSteering,
  pastedText,
  typableText,
  withDrawnTabs,
  withTabs,
} from "../terminal/typed-input.ts";
import { ExtensionEditor } from "./extension-editor.ts";
import { imageMark, PastedImages } from "./pasted-images.ts";

/** A prompt that may contain a key: the history file leaves it out. */
const secret = /^\/login\s/;

export const MAX_PROMPTS = 1_000;

/** The prompt history, which is loaded after the editor. */
interface EarlierPrompts {
  /** Oldest first. */
  read(): string[];
  add(text: string): void;
}

/** The prompt's editor. An extension's editor can replace it: other code still uses this one. */
export class PromptEditor extends OpenEditor {
  readonly images = new PastedImages();
  /** Called for an Esc that an extension's editor does not use. */
  onEscape: (() => void) | undefined;
  readonly #screen: Screen;
  #replacement: ExtensionEditor | undefined;
  #provider: AutocompleteProvider | undefined;
  #history: EarlierPrompts | undefined;
  /** Completions of an earlier text; the list for the current one is on its way. */
  #staleList: object | undefined;

  constructor(screen: Screen) {
    super(screen.tui, screen.theme.editor, { autocompleteMaxVisible: 8 });
    this.#screen = screen;
    this.keepWhole(imageMark);
    this.keepWhole(heldTabs);
  }

  get isReplaced(): boolean {
    return this.#replacement !== undefined;
  }

  /** Replaces this editor by an extension's, with the same text; undefined restores it. */
  takeEditor(taken: TakenEditor | undefined): void {
    const replacement = taken && new ExtensionEditor(taken);
    const text = this.getExpandedText();
    this.#replacement?.end();
    this.#replacement = replacement;
    if (replacement === undefined) this.setText(text);
    replacement?.begin({
      text,
      history: this.earlierTexts.toReversed().map(withTabs),
      provider: this.#provider,
      onSubmit: (sent) => this.onSubmit?.(sent),
      onEscape: () => this.onEscape?.(),
      onBroken: (kept) => {
        this.#replacement = undefined;
        this.setText(kept);
        this.#screen.redraw();
      },
    });
    this.#screen.redraw();
  }

  override getText(): string {
    return this.#replacement?.text ?? withTabs(super.getText());
  }

  override getExpandedText(): string {
    return this.#replacement?.expandedText ?? withTabs(super.getExpandedText());
  }

  protected override get draft(): string | undefined {
    return super.draft && withTabs(super.draft);
  }

  override isShowingAutocomplete(): boolean {
    return this.#replacement?.isShowingAutocomplete ?? super.isShowingAutocomplete();
  }

  override invalidate(): void {
    this.#replacement?.invalidate();
    super.invalidate();
  }

  get isEmpty(): boolean {
    return this.getText().trim() === "";
  }

  useHistory(history: EarlierPrompts): void {
    const submitted = this.earlierTexts.splice(0).reverse();
    for (const text of history.read()) this.#remember(text);
    this.#history = history;
    for (const text of submitted) this.addToHistory(text);
  }

  /** Completes text that was typed earlier at once. */
  override setAutocompleteProvider(provider: AutocompleteProvider): void {
    this.#provider = provider;
    super.setAutocompleteProvider(provider);
    if (this.#replacement !== undefined) this.#replacement.setAutocompleteProvider(provider);
    else if (!this.isEmpty) this.complete();
  }

  override handleInput(data: string): void {
    if (this.#replacement !== undefined) this.#replacement.handleInput(this.#received(data));
    else this.#handleOwn(data);
  }

  #handleOwn(data: string): void {
    const keys = getKeybindings();
    const confirms = keys.matches(data, "tui.select.confirm");
    // Enter on a complete name sends it.
    if (confirms && this.isCompleted) this.leaveCompletions();
    if ((confirms || keys.matches(data, "tui.input.tab")) && this.#isStale) this.leaveCompletions();
    const before = this.getText();
    this.#keepingDraft(() => super.handleInput(this.#received(data)));
    if (this.getText() !== before) this.#staleList = this.completions;
  }

  override setText(text: string): void {
    if (this.#replacement !== undefined) this.#replacement.setText(typableText(text));
    else this.#keepingDraft(() => super.setText(typableText(text, HELD_TAB)));
  }

  override addToHistory(text: string): void {
    const prompt = withTabs(text).trim();
    if (prompt === "" || secret.test(prompt)) return;
    this.#remember(prompt);
    this.#history?.add(prompt);
    this.#replacement?.addToHistory(prompt);
  }

  /**
   * Puts a text into an empty editor.
   * @returns false where something was typed already: it stays, and the text is the latest of the history, one key up
   */
  offerText(text: string): boolean {
    if (!this.isEmpty) {
      this.#remember(text.trim());
      return false;
    }
    this.setText(text);
    this.#screen.redraw();
    return true;
  }

  insertImage(image: ImageContent): void {
    this.insertTextAtCursor(`${this.#isBehindWord ? " " : ""}${this.images.hold(image)} `);
    this.#screen.redraw();
  }

  /** Inserts a text like a paste of the terminal. */
  paste(text: string): void {
    this.handleInput(asPaste(typableText(text, this.isReplaced ? undefined : HELD_TAB)));
    this.#screen.redraw();
  }

  /** Restores unsent texts before the text typed since. */
  restoreText(...texts: string[]): void {
    const given = texts.filter((text) => text.trim() !== "");
    if (given.length === 0) return;
    this.setText([...given, ...(this.isEmpty ? [] : [this.getExpandedText()])].join("\n\n"));
    this.#screen.redraw();
  }

  /** Keeps the text one key up. */
  clear(): void {
    this.#remember(this.getExpandedText().trim());
    this.setText("");
  }

  override render(width: number): string[] {
    this.borderColor = this.#screen.theme.style[inputMode(this.getText()).style];
    const { focused: isFocused, borderColor: border } = this;
    return (
      this.#replacement?.render(width, { isFocused, border, rows: this.#screen.rows }) ??
      super.render(width).map(withDrawnTabs)
    );
  }

  protected override renderTopBorder(width: number, hiddenLineCount: number): string {
    const { label } = inputMode(this.getText());
    if (label === "" || hiddenLineCount > 0) return super.renderTopBorder(width, hiddenLineCount);
    const shown = truncateToWidth(`──${label}`, width, "");
    return this.borderColor(shown + "─".repeat(Math.max(0, width - visibleWidth(shown))));
  }

  /** Keeps the draft from before a walk through the history one key up if another text replaces it. */
  #keepingDraft(change: () => void): void {
    const { draft } = this;
    change();
    if (draft !== undefined && this.draft === undefined && this.getExpandedText() !== draft)
      this.#remember(draft.trim());
  }

  #remember(text: string): void {
    const prompts = this.earlierTexts;
    const prompt = typableText(text, HELD_TAB);
    if (prompt === "" || secret.test(prompt) || prompts[0] === prompt) return;
    prompts.unshift(prompt);
    prompts.length = Math.min(prompts.length, MAX_PROMPTS);
  }

  /** Cleans a paste and mentions a dropped image. Drops control characters that look like letters to the editor. */
  #received(data: string): string {
    const pasted = pastedText(data, this.isReplaced ? undefined : HELD_TAB);
    if (pasted === undefined) return isSteering(data) ? "" : data;
    // After a command, a path stays a path.
    const image = /^\s*[!/]/.test(this.getText()) ? undefined : droppedImage(pasted);
    if (image === undefined) return asPaste(pasted);
    return asPaste(`${this.#isBehindWord ? " " : ""}${image} `);
  }

  get #isBehindWord(): boolean {
    const { line, col } = this.getCursor();
    const before = this.#replacement?.text ?? withTabs((this.getLines()[line] ?? "").slice(0, col));
    return /\S$/.test(before);
  }

  get #isStale(): boolean {
    return this.completions !== undefined && this.completions === this.#staleList;
  }
}

/** The label and the style of the editor's border. */
function inputMode(text: string): { label: string; style: "border" | "warning" | "muted" } {
  const start = text.trimStart();
  if (start.startsWith("!!")) return { label: " shell, hidden from the model ", style: "muted" };
  if (start.startsWith("!")) return { label: " shell ", style: "warning" };
  return { label: "", style: "border" };
}

const imageEnding = /\.(png|jpe?g|gif|webp)$/i;

/** Terminals paste the path of a dropped image: quoted, escaped or as a URL. Returns its mention; undefined for other texts. */
function droppedImage(pasted: string): string | undefined {
  try {
    const path = pathIn(pasted.trim());
    if (path === undefined || !imageEnding.test(path) || path.includes("\n")) return undefined;
    const absolute = path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
    if (!statSync(absolute).isFile()) return undefined;
    return /\s/.test(path) ? `@"${path}"` : `@${path}`;
  } catch {
    // No URL, or no readable file: the text stays as pasted.
    return undefined;
  }
}

function pathIn(text: string): string | undefined {
  if (/^'\/.*'$/.test(text)) return text.slice(1, -1).replaceAll("'\\''", "'");
  if (/^"\/.*"$/.test(text)) return text.slice(1, -1).replace(/\\(["\\$`])/g, "$1");
  if (text.startsWith("file:///")) return fileURLToPath(text);
  return /^~?\//.test(text) ? text.replace(/\\([ -~])/g, "$1") : undefined;
}
