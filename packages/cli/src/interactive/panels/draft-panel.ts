import type { CompactionDraft } from "@bonsai-agent/compaction";
import type { Model } from "@bonsai-agent/messages";
import { type DraftChoice, draftChoices, draftTitle, draftView } from "../../views/draft-view.ts";
import { shortTokens } from "../../views/numbers.ts";
import { keys } from "../terminal/keys.ts";
import type { Panel, Screen } from "../terminal/screen.ts";
import { getKeybindings, type KeyId, matchesKey, visibleWidth } from "../terminal/tui.ts";
import { isTypedText } from "../terminal/typed-input.ts";
import { framed, headingLines, keyName, textLines } from "./panel-frame.ts";
import { ScrolledReport } from "./report-panel.ts";

/** A choice that was taken. */
export interface DraftAnswer {
  choice: DraftChoice;
  /** To be edited in the user's own editor. */
  isOutside: boolean;
}

interface DraftPanelOptions {
  screen: Screen;
  draft: CompactionDraft;
  /** Whose prices hold. */
  model: Model;
  /** Selected at first, where it can be chosen. Default: the first. */
  selected?: DraftChoice | undefined;
  onAnswer: (answer: DraftAnswer) => void;
}

type Choice = ReturnType<typeof draftChoices>[number];

/** A letter selects its choice. */
const letters: Readonly<Record<DraftChoice, string>> = {
  apply: "a",
  edit: "e",
  again: "f",
  digest: "d",
  earlier: "m",
  later: "l",
  earlierTurn: "t",
  laterTurn: "u",
  back: "b",
  cancel: "c",
};

const next: readonly KeyId[] = ["right", "tab"];
const previous: readonly KeyId[] = ["left", "shift+tab"];

/** The footer, the line of what goes on, and a line of the chat. */
const ROWS_AROUND = 5;
const LEAST_ROWS = 2;
/** With fewer, choices and hints take no more than they must. */
const LOW_ROWS = 16;

/**
 * A compaction before it happens: all that there is to know, scrolled, and what can be done with it. It comes by itself: a
 * letter alone selects and does nothing, and what is typed goes where the user was typing.
 */
export class DraftPanel implements Panel {
  readonly #options: DraftPanelOptions;
  readonly #report: ScrolledReport;
  readonly #choices: readonly Choice[];
  #at: number;
  /** A letter that selected, or the beginning of what somebody types. */
  #letter = "";
  #isTyping = false;

  constructor(options: DraftPanelOptions) {
    const { screen, draft, model, selected } = options;
    this.#options = options;
    this.#choices = draftChoices(draft);
    this.#at = Math.max(
      0,
      this.#choices.findIndex(({ choice }) => choice === selected),
    );
    this.#report = new ScrolledReport({ screen, lines: (width) => draftView(draft, model, width) });
  }

  handleInput(data: string): void {
    const { onAnswer, screen } = this.#options;
    const bindings = getKeybindings();
    if (isTypedText(data)) this.#typed(data);
    else if (bindings.matches(data, "tui.select.cancel")) onAnswer({ choice: "cancel", isOutside: false });
    else if (bindings.matches(data, "tui.select.confirm")) this.#confirmed(data);
    else if (keys.matches("externalEditor", data) && this.#has("edit"))
      onAnswer({ choice: "edit", isOutside: true });
    else if (next.some((key) => matchesKey(data, key))) this.#move(1);
    else if (previous.some((key) => matchesKey(data, key))) this.#move(-1);
    else this.#report.handleInput(data);
    screen.redraw();
  }

  render(width: number): string[] {
    const { screen, draft } = this.#options;
    const { muted } = screen.theme.style;
    const typing = this.#isTyping
      ? textLines("Typed text goes to the prompt. Press Tab to answer here.", width).map(muted)
      : [];
    const choices = this.#choiceLines(width);
    const hints = this.#hints();
    const below = [...choices, ...typing];
    const around = below.length + framed(screen.theme, width, [], hints).length;
    const free = screen.rows - around - ROWS_AROUND;
    const heading = headingLines(screen, draftTitle(draft), width).slice(0, free < 2 * LEAST_ROWS ? 1 : 2);
    const rows = Math.max(LEAST_ROWS, free - heading.length);
    const report = this.#report.render(width, rows);
    return framed(screen.theme, width, [...heading, ...report, ...below], hints);
  }

  invalidate(): void {
    this.#report.invalidate();
  }

  #has(choice: DraftChoice): boolean {
    return this.#choices.some((each) => each.choice === choice);
  }

  #move(by: number): void {
    const { length } = this.#choices;
    this.#at = (this.#at + by + length) % length;
    this.#letter = "";
    this.#isTyping = false;
  }

  /** Of somebody who types, that is the end of a prompt, and no answer. */
  #confirmed(data: string): void {
    if (this.#isTyping) this.#options.screen.typeThrough(data);
    else this.#options.onAnswer({ choice: this.#choices[this.#at]!.choice, isOutside: false });
    this.#isTyping = false;
  }

  #typed(data: string): void {
    const at = this.#choices.findIndex(({ choice }) => letters[choice] === data.toLowerCase());
    if (at >= 0 && !this.#isTyping && this.#letter === "") {
      this.#at = at;
      this.#letter = data;
      return;
    }
    const { screen } = this.#options;
    if (this.#letter !== "") screen.typeThrough(this.#letter);
    screen.typeThrough(data);
    this.#letter = "";
    this.#at = 0;
    this.#isTyping = true;
  }

  /** On as many lines as they need. */
  #choiceLines(width: number): string[] {
    const { selectedBg: selected, muted } = this.#options.screen.theme.style;
    const lines: { text: string; columns: number }[] = [{ text: "", columns: 0 }];
    for (const [at, { choice, label, keptTokens }] of this.#choices.entries()) {
      const words = keptTokens === undefined ? label : this.#cutWords(label, keptTokens);
      const text = ` ${letters[choice]} ${words} `;
      const columns = visibleWidth(text);
      const drawn = at === this.#at ? selected(text) : muted(text);
      const line = lines.at(-1)!;
      if (line.columns === 0 || line.columns + columns <= width - 1) {
        line.text += drawn;
        line.columns += columns;
      } else lines.push({ text: drawn, columns });
    }
    return lines.map(({ text }) => ` ${text}`);
  }

  /** `Keep more, ~20k`; on a low screen `more`, so that there is room for the draft. */
  #cutWords(label: string, keptTokens: number): string {
    return this.#isLow ? label.slice(label.indexOf(" ") + 1) : `${label}, ~${shortTokens(keptTokens)}`;
  }

  get #isLow(): boolean {
    return this.#options.screen.rows < LOW_ROWS;
  }

  #hints(): (readonly [string, string])[] {
    const confirm = [keyName("tui.select.confirm"), "confirm"] as const;
    const cancel = [keyName("tui.select.cancel"), "cancel"] as const;
    if (this.#isLow) return [confirm, cancel];
    const outside: [string, string][] = this.#has("edit")
      ? [[keys.label("externalEditor"), "edit in $EDITOR"]]
      : [];
    return [["Tab or letter", "choose"], confirm, ...outside, ...this.#report.hints(), cancel];
  }
}
