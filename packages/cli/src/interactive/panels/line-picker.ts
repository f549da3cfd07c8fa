import type { Screen } from "../terminal/screen.ts";
import { PickList } from "./pick-list.ts";

interface PickLinesOptions {
  title: string;
  text: string;
  /** The line to begin at, from 0. Default 0. */
  at?: number;
  /** What Enter does, in a word. */
  picks: string;
}

interface NumberedLine {
  at: number;
  text: string;
}

/**
 * Shows a text line by line: Tab marks lines, Enter takes those that are marked, or the selected one.
 * @returns undefined where the user left it
 */
export async function pickLines(
  screen: Screen,
  { title, text, at = 0, picks }: PickLinesOptions,
): Promise<string | undefined> {
  const lines = text.split("\n").map((each, number): NumberedLine => ({ at: number, text: each }));
  const marked = new Set<number>();
  const picked = await screen.show<NumberedLine>((done) => {
    const list: PickList<NumberedLine> = new PickList<NumberedLine>({
      place: screen,
      title,
      items: lines,
      key: (line) => String(line.at),
      text: (line) => line.text,
      row: (line) => ({
        label: `${marked.has(line.at) ? "●" : " "} ${line.text.replaceAll("\t", "  ")}`,
        detail: String(line.at + 1),
      }),
      selected: String(at),
      picks,
      onPick: done,
      onCancel: () => done(undefined),
      actions: [
        {
          key: "tab",
          does: "mark",
          run: (line) => {
            if (line === undefined) return;
            if (!marked.delete(line.at)) marked.add(line.at);
            list.model.move(1);
          },
        },
      ],
    });
    return list;
  });
  if (picked === undefined) return undefined;
  const chosen = marked.size === 0 ? [picked] : lines.filter((line) => marked.has(line.at));
  return chosen.map((line) => line.text).join("\n");
}
