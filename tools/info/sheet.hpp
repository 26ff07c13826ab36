// What is known, section by section; printed as text or as one object of JSON.
#pragma once

#include "value.hpp"

namespace info {

class Sheet {
public:
    void section(const char* name) { sections_.push_back({name, {}}); }
    // Of the last section.  `words` are for people: what it means.
    void fact(std::string name, Value value, std::string words = "")
    {
        sections_.back().facts.push_back({std::move(name), std::move(value), std::move(words)});
    }
    // Something is wrong: a section of its own tells it, and the exit status.
    void problem(std::string text) { problems_.push_back(std::move(text)); }
    const std::vector<std::string>& problems() const { return problems_; }

    std::string text() const;
    std::string json() const;

private:
    struct Fact {
        std::string name;
        Value value;
        std::string words;
    };
    struct Section {
        const char* name;
        std::vector<Fact> facts;
    };
    std::vector<Section> sections_;
    std::vector<std::string> problems_;
};

}  // namespace info
