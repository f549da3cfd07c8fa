const headings = ["Goal", "Constraints & Preferences", "Progress", "Key Decisions", "Next Steps"];

/** A summary as a model is asked for it, with the same in all of its sections. */
export function modelSummary(said = "- Made it."): string {
  return [...headings, "Critical Context"].map((heading) => `## ${heading}\n${said}`).join("\n\n");
}
