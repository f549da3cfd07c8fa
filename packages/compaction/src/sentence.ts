/** What servers and extensions say ends as they like, and another sentence follows. */
export function sentence(text: string): string {
  return /[.!?。…]$/.test(text) ? text : `${text}.`;
}
