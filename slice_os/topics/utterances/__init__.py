"""Topics of short texts that are about one thing: utterances, titles of tickets, chat messages."""
