/** What is planted into a session. */
export type PlantKind = "constraint" | "preference" | "decision" | "change" | "fact" | "todo";

/**
 * How people of one language say things. `«…»` marks the words that must survive; `{slot}`s are filled by the
 * generator. A change has two parts, divided by `=>`: what is said first and what replaces it later.
 */
export interface Wordings {
  plants: Record<PlantKind, readonly string[]>;
  /** Requests of everyday work, around which the plants are said in passing. */
  requests: readonly string[];
  /** Look like plants and are none. */
  lookAlikes: readonly string[];
  /** The assistant's closing words; `{file}` is the file of the turn. */
  answers: readonly string[];
}

export type PlantedLanguage = "en" | "de" | "fr" | "es" | "ru" | "zh" | "ja" | "pt" | "it" | "ko";
