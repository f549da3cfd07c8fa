/** A theme in pi's shape without colours: what is drawn with it stays readable wherever it ends up. */
export interface PlainTheme {
  readonly name: string;
  fg(color: string, text: string): string;
  bg(color: string, text: string): string;
  bold(text: string): string;
  italic(text: string): string;
  underline(text: string): string;
  inverse(text: string): string;
  strikethrough(text: string): string;
  getFgAnsi(color: string): string;
  getBgAnsi(color: string): string;
  getColorMode(): string;
  getThinkingBorderColor(level: string): (text: string) => string;
  getBashModeBorderColor(): (text: string) => string;
}

const same = (text: string) => text;

export const plainTheme: PlainTheme = {
  name: "plain",
  fg: (_color, text) => text,
  bg: (_color, text) => text,
  bold: same,
  italic: same,
  underline: same,
  inverse: same,
  strikethrough: same,
  getFgAnsi: () => "",
  getBgAnsi: () => "",
  getColorMode: () => "256color",
  getThinkingBorderColor: () => same,
  getBashModeBorderColor: () => same,
};
