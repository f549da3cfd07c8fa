const OPEN = "<system-reminder>";
const CLOSE = "</system-reminder>";

/** The text without what a program, not a person, added to it: such reminders must not become history. */
export function withoutReminders(text: string): string {
  let kept = "";
  let from = 0;
  for (let open = text.indexOf(OPEN); open >= 0; open = text.indexOf(OPEN, from)) {
    const close = text.indexOf(CLOSE, open);
    if (close < 0) break;
    kept += text.slice(from, open);
    from = close + CLOSE.length;
    while (from < text.length && text[from]!.trim() === "") from += 1;
  }
  return kept + text.slice(from);
}
