import type { Wordings } from "./wordings.ts";

export const spanish: { tuned: Wordings; heldOut: Wordings["plants"] } = {
  tuned: {
    plants: {
      constraint: [
        "por cierto, «no podemos usar {lib}», legal no lo aprueba",
        "y «nunca escribas directamente en {table}»",
        "«{file} tiene que seguir siendo síncrono», el host no sabe esperar",
        "«nada de dependencias nuevas en {mod}» por favor",
        "«las respuestas deben quedar por debajo de {num} ms»",
      ],
      preference: [
        "«prefiero commits pequeños en {mod}»",
        "«me gusta más {lib} para las pruebas»",
        "«si es posible, funciones simples en {file}»",
      ],
      decision: ["vale, «vamos con {lib} para las fechas»", "decidido: «{mod} tendrá su propio paquete»"],
      change: [
        "«la pasarela corre en el puerto {port}» por ahora=>{port} está ocupado, «usa mejor el {port2}»",
        "«la clase del planificador se llama {name}»=>pensándolo bien, «renombra el planificador a {name2}»",
        "«el límite de reintentos de subida es {num}»=>«sube el límite de reintentos de subida a {num2}»",
      ],
      fact: [
        "para que sepas, «la base de datos de staging corre en {host}»",
        "«el identificador del cliente es {ticket}», te hará falta",
        "«{mod} pertenece al equipo de pagos»",
      ],
      todo: ["más tarde «habrá que migrar {table}»", "no olvides «actualizar {file} antes del lanzamiento»"],
    },
    requests: [
      "¿puedes mirar por qué {file} va tan lento?",
      "añade una prueba para el caso vacío en {file}",
      "ejecuta las pruebas otra vez",
      "ordena un poco {file}",
      "ok continúa",
      "enséñame el diff de {file}",
    ],
    lookAlikes: [
      "no hay problema, tómate tu tiempo",
      "debo decir que queda genial",
      "nunca había visto eso",
      "¿por qué nunca devuelve nada?",
      "no te preocupes por eso",
      "gracias, como siempre perfecto",
    ],
    answers: [
      "Listo. He actualizado `{file}` y las pruebas pasan.",
      "He ordenado `{file}`; no ha cambiado nada más.",
      "El caso vacío de `{file}` ya está tratado.",
    ],
  },
  heldOut: {
    constraint: [
      "auditoría insiste: «{table} es de solo lectura para este servicio»",
      "«ni tocar {file}», lo está reescribiendo Marta",
      "esto va a móviles, así que «{mod} ha de funcionar sin red»",
      "«{lib} ni en pintura», ya nos dio bastante guerra",
      "«el bundle no puede pasar de {num} kB», el CDN lo rechaza",
    ],
    preference: [
      "«las tablas me parecen más claras que el texto en el informe de {mod}»",
      "«mejor retornos tempranos que ifs anidados en {file}»",
    ],
    decision: [
      "venga, definitivo: «las sesiones se guardan en {table}»",
      "lo hablé con Ana y «para la cola será {lib}»",
    ],
    change: [
      "«el endpoint de métricas escucha en {port}»=>los de operaciones lo movieron, «el endpoint de métricas está ahora en {port2}»",
      "«las entradas de caché viven {num} segundos»=>«las entradas de caché vivirán {num2} segundos en vez de {num}»",
      "«el exportador se llamará {name}»=>«al exportador mejor llamémoslo {name2}»",
    ],
    fact: [
      "por si ayuda, «el tráfico de producción entra por {host}»",
      "resulta que «{ticket} es el mismo fallo»",
    ],
    todo: [
      "cuando esto funcione, «alguien tiene que vaciar {table}»",
      "«falta una entrada del changelog para {name}»",
    ],
  },
};
