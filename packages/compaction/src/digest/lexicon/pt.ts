import type { Lexicon } from "./lexicon.ts";

export const pt: Lexicon = {
  stopwords:
    "o a os as um uma uns umas de do da dos das e ou mas em no na nos nas com sem por para pelo pela ao aos e sao era eram ser esta estao este isto esta esse isso essa eu tu ele ela nos voces voce eles meu minha nosso nossa seu sua me te se lhe que quem como quando onde porque se entao nao ja muito mais tambem tudo todos toda todas ha tem temos foi sera pode podem deve fazer faz ok aqui agora so obrigado favor",
  beforeOld:
    "em vez de|em vez do|em vez da|ao inves de|no lugar de|no lugar do|nao|nao mais|de|do|substitui~|renomeia~|esquece~|era|antes",
  afterOld: "esta ocupada|nao serve|nao funciona|ja nao",
  cues: {
    forbid:
      "nunca|jamais|nao deve|nao devem|nao devemos|nao pode|nao podem|nao podemos|nao da para|nao toque~|nao mexa~|nao mexe~|nao use~|nao usa~|nao altere~|nao mude~|nao modifique~|nao adicione~|nao coloque~|nao faca~|nao apague~|nao quero|nao queremos|proibid~|proibe|evite~|evita~|evitar|de jeito nenhum|de forma alguma|em hipotese alguma|em nenhum caso|nenhum|nenhuma|nada de|chega de|pare de|para de|sem mexer|sem alterar|sem mudar|sem adicionar|sem quebrar|intact~|como esta|do jeito que esta|nao e permitid~|nao permitid~|fora de questao|ninguem pode",
    require:
      "deve|devem|devemos|devera|deverao|tem que|tem de|temos que|temos de|e preciso|sempre|obrigatori~|imprescindivel|indispensavel|so use|so usa|use so|use apenas|apenas|somente|exclusivamente|unicamente|toda vez|sem excecao|no maximo|maximo|no minimo|minimo|pelo menos|nao mais que|nao mais de|menos de|limitado a|limite de|respeite~|respeitar|cumpr~|conforme|exige~|exigencia|requisito|requer|necessari~|fundamental|essencial|regra|regras|norma|politica|convencao|retrocompativel|restricao|restricoes|licenca|lgpd|rgpd|aconteca o que acontecer|de qualquer forma",
    ought:
      "deveria|deveriam|precisa|precisamos|preciso|garanta|garantir|certifique~|cuidado|atencao|por favor|quero|queremos|cada|importante|so",
    prefer:
      "responde|responda|seja breve|respostas curtas|curto e|prefiro|preferimos|prefer~|preferencia|de preferencia|gosto|gostamos|gostaria|nao gosto|nao gostamos|se possivel|sempre que possivel|idealmente|odeio|detesto|me incomoda|nao sou fa|sou fa|acostumad~|mais limpo|mais legivel|responda|responda em|seja breve|meu estilo|nosso estilo|pessoalmente|melhor com",
    decide:
      "vamos com|vamos usar|usaremos|vamos de|ficamos com|ficou decidido|decidi|decidimos|decidid~|decisao|escolhemos|escolhid~|escolho|optamos|optei|combinado|combinamos|acordado|fica|ficara|vamos chamar|chama-se|chame de|se chama|vamos manter|mantemos|definitivo|conclusao|abordagem|adotamos|usamos|utilizaremos|vamos fazer|vou usar",
    change:
      "mudou|mudou:|mudei de ideia|mudamos de ideia|mudanca:|mudanca de planos|mudanca de ideia|no fim|em vez de|em vez do|ao inves de|no lugar de|em lugar de|melhor|pensando bem|mudei de ideia|mudamos de ideia|mudanca de planos|no fim|afinal|na verdade|nao mais|ja nao|correcao|me enganei|enganei-me|erro meu|muda~|mudar|troca~|trocar|trocamos|passamos para|passar para|passa a|renomeia~|renomear|substitui~|substituir|migra~|migrar|aumenta~|baixa~ * para|voltamos|voltar para|volta para|esquece~|esqueca|descarta~|novo plano|a partir de agora|de agora em diante|agora e|agora sera|agora se chama|mas sim|e sim|cancela~",
    shift: "agora|entretanto|hoje|atualmente|atualizacao|espera|hmm|nao,|desculpa|melhor",
    revoke:
      "esquece~|esqueca|ignore|ignora|descarta~|nao e mais necessari~|ja nao e necessari~|nao vale mais|nao se aplica mais|cancelad~|anulad~|ja pode|obsolet~|liberad~",
    fact: "nota:|note que|tenha em mente|para sua informacao|para saberes|so para saber|a proposito|por sinal|alias|fyi|lembre-se|lembra-te|lembra que|lembre que|saiba que|acontece que|descobri~|causa|a causa|deve-se a|devido a|o motivo|motivo|a razao|porque|o problema e|o problema era|fica em|esta em|estao em|roda em|corre em|roda na|escuta na|hospedad~|acessivel|chama-se|se chama|aponta para|pertence|responsavel|contato|depende de|por padrao|por omissao|guardad~|armazenad~|credenciais|senha|conta|importante|limite|cota|endpoint|ticket|demora|medid~|significa|quer dizer|solucao|expira",
    todo: "todo:|pendente|pendentes|por fazer|mais tarde|depois|mais adiante|um dia|nao esqueca|nao esquecas|nao se esqueca|nao esquecer|lembre-se de|lembra de|me lembre|ainda falta|falta|faltam|ainda precisa|ainda temos|ainda nao|proximo passo|proximos passos|em seguida|quando terminar|assim que|antes do lancamento|antes de publicar|amanha|semana que vem|precisaremos|teremos que",
    fixed:
      "corrigid~|consertad~|resolvid~|solucionad~|arrumad~|ja funciona|funciona agora|agora funciona|voltou a funcionar|ja passa|passam todos|passando|tudo verde|nao falha mais|nao ocorre mais|sumiu|desapareceu|com sucesso|pronto|compila de novo",
    broken:
      "falha|falham|falhando|falhou|quebrad~|quebrou|nao funciona|continua falhando|ainda falha|nao compila|trava|travou|travad~|crash~|erro|erros|bug|sem solucao|nao resolvid~|bloquead~|esperando|aguardando|nao sei por que|instavel|timeout|nao consegui|nao conseguiu|impossivel|recusad~|negad~|excecao|incorret~|errad~",
    did: "adicionad~|corrigid~|removid~|atualizad~|criad~|implementad~|renomead~|movid~|substituid~|escrit~|modificad~|alterad~|migrad~|apagad~|documentad~|configurad~|instalad~|concluid~|feito|testad~|publicad~|refatorad~|pronto",
    idiom:
      "deve ter|deve ser|deve estar|devem ter|hoje de manha|nunca entendi|nunca vi|nunca soube|nao tem problema|sem problema|sem problemas|sem pressa|nao se preocupe|nao te preocupes|nao importa|nao sei|nao acho|nao entendo|nao tenho certeza|nada mau|nem ideia|sem duvida|devo dizer|devo admitir|tenho que admitir|deve ser|sempre um prazer|como sempre|desde sempre|sempre quis|nunca pensei|nunca vi|nunca soube|antes tarde do que nunca|por que nao|ou nao|mais ou menos|preciso de um cafe|preciso de cafe|de nada|obrigad~|bom trabalho|tanto faz",
    reports:
      "o readme diz|a doc diz|a documentacao diz|segundo|de acordo com|o log diz|a mensagem diz|o erro diz|esta escrito|o linter|o compilador|reclama|citacao|o tutorial|um artigo",
  },
};
