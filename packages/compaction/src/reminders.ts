const reminder = /<system-reminder>[\s\S]*?<\/system-reminder>\s*/g;

/** The text without what a program, not a person, added to it: such reminders must not become history. */
export function withoutReminders(text: string): string {
  return text.includes("<system-reminder>") ? text.replaceAll(reminder, "") : text;
}
